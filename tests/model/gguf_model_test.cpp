#include "physarum/model/gguf_model.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "physarum/model/safetensors.hpp"
#include "physarum/model/weight_source.hpp"

#include "expect_user_error.hpp"
#include "gguf_builder.hpp"
#include "gguf_names.hpp"
#include "temporary_directory.hpp"

namespace physarum::model {
namespace {

using B = GgufBuilder;
using Json = nlohmann::json;
const std::filesystem::path golden_data = std::filesystem::path(PHYSARUM_TEST_DATA) / "gguf";

/// A GGUF file of metadata that each test changes, with an embedding and other tensors.
struct Model {
  std::string architecture = "llama";
  std::vector<std::function<void(B&)>> entries{};
  std::vector<std::string> left_out{};
  std::vector<std::string> tensors{};  ///< beside the embedding, one f32 block of 32 bytes each
  std::vector<float> rope_factors{};

  [[nodiscard]] bool has(const std::string& key) const {
    return std::ranges::find(left_out, key) == left_out.end();
  }

  B build() const {
    std::vector<std::function<void(B&)>> all = entries;
    const auto number = [&](const std::string& name, std::uint32_t value) {
      if (has(name)) all.push_back([=, this](B& b) { b.entry(architecture + "." + name, value); });
    };
    number("embedding_length", 16);
    number("block_count", 2);
    number("context_length", 64);
    number("feed_forward_length", 24);
    number("attention.head_count", 4);
    number("attention.head_count_kv", 2);
    if (has("attention.layer_norm_rms_epsilon")) {
      all.push_back([this](B& b) {
        b.key(architecture + ".attention.layer_norm_rms_epsilon", B::f32).put(1e-5F);
      });
    }
    if (has("general.architecture")) {
      all.push_back([this](B& b) { b.entry("general.architecture", architecture); });
    }
    if (has("tokens")) all.push_back([](B& b) { add_texts(b, "tokens", {"<e>", "a", "b", "ab"}); });
    if (has("merges")) all.push_back([](B& b) { add_texts(b, "merges", {"a b"}); });
    if (has("model")) all.push_back([](B& b) { b.entry("tokenizer.ggml.model", "gpt2"); });
    B file;
    file.head(1 + tensors.size() + (rope_factors.empty() ? 0 : 1), all.size());
    for (const auto& write : all) write(file);
    file.tensor("token_embd.weight", {8, 4}, 0, 0);
    std::uint64_t offset = 128;
    for (const auto& name : tensors) {
      file.tensor(name, {8}, 0, offset);
      offset += 32;
    }
    if (!rope_factors.empty()) file.tensor("rope_freqs.weight", {rope_factors.size()}, 0, offset);
    file.pad().data(128 + 32 * tensors.size());
    for (const float factor : rope_factors) file.put(factor);
    return file;
  }

  static void add_texts(B& b, const std::string& name, const std::vector<std::string>& texts) {
    b.key("tokenizer.ggml." + name, B::array).put<std::uint32_t>(B::string);
    b.put<std::uint64_t>(texts.size());
    for (const auto& text : texts) b.put_text(text);
  }

  template <class Call>
  auto with_view(Call call) const {
    const auto file = build();
    const auto header = parse_gguf_header(file.bytes(), "m.gguf");
    return call(GgufView{header, file.bytes(), "m.gguf"});
  }
  [[nodiscard]] Json config() const {
    return Json::parse(with_view([](const GgufView& view) { return gguf_config_json(view); }));
  }
  [[nodiscard]] std::map<std::string, std::string> files() const {
    return with_view([](const GgufView& view) { return gguf_tokenizer_files(view); });
  }
  [[nodiscard]] Json tokenizer() const { return Json::parse(files().at("tokenizer.json")); }
};

std::function<void(B&)> integer(const std::string& key, std::uint32_t value) {
  return [=](B& b) { b.entry(key, value); };
}
std::function<void(B&)> text(const std::string& key, const std::string& value) {
  return [=](B& b) { b.entry(key, value); };
}
std::function<void(B&)> real(const std::string& key, float value) {
  return [=](B& b) { b.key(key, B::f32).put(value); };
}
std::function<void(B&)> boolean(const std::string& key, bool value) {
  return [=](B& b) { b.key(key, B::boolean).put<std::uint8_t>(value ? 1 : 0); };
}

TEST(GgufNames, are_those_of_hugging_face) {
  EXPECT_EQ(hugging_face_name("token_embd.weight"), "model.embed_tokens.weight");
  EXPECT_EQ(hugging_face_name("output_norm.weight"), "model.norm.weight");
  EXPECT_EQ(hugging_face_name("output.weight"), "lm_head.weight");
  EXPECT_EQ(hugging_face_name("blk.0.attn_q.bias"), "model.layers.0.self_attn.q_proj.bias");
  EXPECT_EQ(hugging_face_name("blk.12.attn_output.weight"),
            "model.layers.12.self_attn.o_proj.weight");
  EXPECT_EQ(hugging_face_name("blk.3.ffn_norm.weight"),
            "model.layers.3.post_attention_layernorm.weight");
  for (const char* stranger : {"", "x", "blk.", "blk.1", "blk.1.x.weight", "blk..attn_q.weight",
                               "blk.x.attn_q.weight", "blk.0.attn_q", "attn_q.weight"}) {
    EXPECT_EQ(hugging_face_name(stranger), stranger);
  }
}

TEST(GgufConfig, says_what_config_json_says) {
  const auto json = Model{}.config();
  EXPECT_EQ(json.at("model_type"), "llama");
  EXPECT_EQ(json.at("architectures"), Json::array({"LlamaForCausalLM"}));
  EXPECT_EQ(json.at("hidden_size"), 16);
  EXPECT_EQ(json.at("num_hidden_layers"), 2);
  EXPECT_EQ(json.at("num_attention_heads"), 4);
  EXPECT_EQ(json.at("num_key_value_heads"), 2);
  EXPECT_EQ(json.at("head_dim"), 4);
  EXPECT_EQ(json.at("intermediate_size"), 24);
  EXPECT_EQ(json.at("vocab_size"), 4);
  EXPECT_EQ(json.at("max_position_embeddings"), 64);
  EXPECT_EQ(json.at("rms_norm_eps"), 1e-5);
  EXPECT_EQ(json.at("rope_theta"), 10000.0);
  EXPECT_EQ(json.at("tie_word_embeddings"), true);
  EXPECT_EQ(json.at("attention_bias"), false);
  EXPECT_FALSE(json.contains("rope_scaling"));
  EXPECT_FALSE(json.contains("eos_token_id"));
  EXPECT_NO_THROW((void)ModelConfig::from_json(json.dump(), "m.gguf"));
}

TEST(GgufConfig, follows_its_keys_and_tensors) {
  Model model{
      .entries =
          {integer("llama.rope.dimension_count", 8), integer("llama.attention.key_length", 8),
           integer("llama.attention.value_length", 8), real("llama.rope.freq_base", 5e5F),
           text("llama.rope.scaling.type", "linear"), real("llama.rope.scaling.factor", 4.0F),
           integer("tokenizer.ggml.eos_token_id", 1), integer("tokenizer.ggml.eot_token_id", 2),
           integer("tokenizer.ggml.eom_token_id", 1), integer("tokenizer.ggml.bos_token_id", 3)},
      .tensors = {"output.weight", "blk.0.attn_q.bias"}};
  const auto json = model.config();
  EXPECT_EQ(json.at("head_dim"), 8);
  EXPECT_EQ(json.at("rope_theta"), 500000.0);
  EXPECT_EQ(json.at("rope_scaling"), Json({{"rope_type", "linear"}, {"factor", 4.0}}));
  EXPECT_EQ(json.at("tie_word_embeddings"), false);
  EXPECT_EQ(json.at("attention_bias"), true);
  EXPECT_EQ(json.at("eos_token_id"), Json::array({1, 2}));
  EXPECT_EQ(json.at("bos_token_id"), 3);
  model.left_out = {"attention.head_count_kv"};
  EXPECT_EQ(model.config().at("num_key_value_heads"), 4);
}

TEST(GgufConfig, names_what_is_missing) {
  for (const char* key :
       {"embedding_length", "block_count", "context_length", "feed_forward_length",
        "attention.head_count", "attention.layer_norm_rms_epsilon"}) {
    expect_user_error([&] { (void)Model{.left_out = {key}}.config(); },
                      std::string("'llama.") + key + "' is missing");
  }
  expect_user_error([] { (void)Model{.left_out = {"general.architecture"}}.config(); },
                    "no general.architecture");
}

TEST(GgufConfig, names_what_is_not_supported) {
  const auto refuses = [](const std::function<void(B&)>& entry, const char* part) {
    expect_user_error([&] { (void)Model{.entries = {entry}}.config(); }, part);
  };
  expect_user_error([] { (void)Model{.architecture = "gemma"}.config(); },
                    "general.architecture is 'gemma'");
  refuses(integer("llama.attention.sliding_window", 5), "'llama.attention.sliding_window' is not");
  refuses(integer("llama.expert_count", 8), "'llama.expert_count'");
  refuses(text("llama.rope.scaling.type", "yarn"), "'llama.rope.scaling.type' is 'yarn'");
  refuses(integer("llama.rope.dimension_count", 2), "'llama.rope.dimension_count'");
  refuses(integer("llama.attention.value_length", 6), "'llama.attention.value_length'");
  refuses(boolean("llama.attention.causal", false), "'llama.attention.causal' is false");
  refuses(real("llama.rope.freq_base", -1.0F), "'llama.rope.freq_base' is not positive");
  refuses(real("llama.rope.freq_base", NAN), "'llama.rope.freq_base' is not positive");
  refuses(integer("tokenizer.ggml.eos_token_id", 4), "'tokenizer.ggml.eos_token_id' is 4");
}

TEST(GgufConfig, refuses_more_tokens_than_the_embedding_has_rows) {
  const auto tokens = [](B& b) { Model::add_texts(b, "tokens", {"a", "b", "c", "d", "e"}); };
  expect_user_error([&] { (void)Model{.entries = {tokens}, .left_out = {"tokens"}}.config(); },
                    "has 5 tokens, its embedding 4 rows");
}

TEST(GgufConfig, refuses_layers_that_differ) {
  const auto list = [](std::int32_t second) {
    return [=](B& b) {
      b.key("llama.attention.head_count_kv", B::array).put<std::uint32_t>(B::i32);
      b.put<std::uint64_t>(2).put<std::int32_t>(2).put(second);
    };
  };
  const std::vector<std::string> without = {"attention.head_count_kv"};
  EXPECT_EQ((Model{.entries = {list(2)}, .left_out = without}.config().at("num_key_value_heads")),
            2);
  expect_user_error([&] { (void)Model{.entries = {list(1)}, .left_out = without}.config(); },
                    "differs from layer to layer");
}

/// Llama 3's divisors of frequencies, in fp32 as its writer computes them.
std::vector<float> llama3_factors(float factor, int width, float theta) {
  std::vector<float> factors;
  for (int i = 0; i < width / 2; ++i) {
    const float frequency =
        std::pow(theta, -2.0F * static_cast<float>(i) / static_cast<float>(width));
    const float wave = 2 * std::numbers::pi_v<float> / frequency;
    const float smooth = (8192 / wave - 1) / 3;
    factors.push_back(wave < 2048   ? 1.0F
                      : wave > 8192 ? factor
                                    : 1 / ((1 - smooth) / factor + smooth));
  }
  return factors;
}

TEST(GgufConfig, knows_the_scaling_of_llama_3_by_its_factors) {
  Model model{
      .entries = {real("llama.rope.freq_base", 5e5F), integer("llama.attention.key_length", 64),
                  integer("llama.attention.value_length", 64),
                  integer("llama.rope.dimension_count", 64)},
      .rope_factors = llama3_factors(32, 64, 5e5F)};
  EXPECT_EQ(model.config().at("rope_scaling"), Json({{"rope_type", "llama3"},
                                                     {"factor", 32.0},
                                                     {"low_freq_factor", 1.0},
                                                     {"high_freq_factor", 4.0},
                                                     {"original_max_position_embeddings", 8192}}));
  model.rope_factors[20] *= 1.01F;
  expect_user_error([&] { (void)model.config(); }, "rope_freqs.weight");
  model.rope_factors.pop_back();
  expect_user_error([&] { (void)model.config(); }, "rope_freqs.weight");
  model.rope_factors.assign(32, NAN);
  expect_user_error([&] { (void)model.config(); }, "rope_freqs.weight");
  model.rope_factors.assign(32, 1.0F);
  EXPECT_FALSE(model.config().contains("rope_scaling"));
}

TEST(GgufTokenizer, writes_the_files_of_a_hugging_face_directory) {
  const Model model{.entries = {integer("tokenizer.ggml.eos_token_id", 0),
                                integer("tokenizer.ggml.padding_token_id", 1),
                                boolean("tokenizer.ggml.add_eos_token", true),
                                text("tokenizer.chat_template", "{{ messages }}"), [](B& b) {
                                  b.key("tokenizer.ggml.token_type", B::array);
                                  b.put<std::uint32_t>(B::i32).put<std::uint64_t>(4);
                                  for (const int type : {3, 1, 1, 4}) b.put(type);
                                }}};
  const auto files = model.files();
  const auto json = model.tokenizer();
  EXPECT_EQ(json.at("model").at("vocab"), Json({{"<e>", 0}, {"a", 1}, {"b", 2}, {"ab", 3}}));
  EXPECT_EQ(json.at("model").at("merges"), Json::array({Json::array({"a", "b"})}));
  ASSERT_EQ(json.at("added_tokens").size(), 2U);
  EXPECT_EQ(json.at("added_tokens")[0].at("content"), "<e>");
  EXPECT_EQ(json.at("added_tokens")[0].at("special"), true);
  EXPECT_EQ(json.at("added_tokens")[1].at("id"), 3);
  EXPECT_EQ(json.at("added_tokens")[1].at("special"), false);
  EXPECT_TRUE(json.at("post_processor").is_null());
  const auto config = Json::parse(files.at("tokenizer_config.json"));
  EXPECT_EQ(config.at("eos_token"), "<e>");
  EXPECT_EQ(config.at("pad_token"), "a");
  EXPECT_EQ(config.at("add_bos_token"), false);
  EXPECT_EQ(config.at("add_eos_token"), true);
  EXPECT_EQ(config.at("model_max_length"), 64);
  EXPECT_EQ(config.at("chat_template"), "{{ messages }}");
  EXPECT_EQ(files.at("chat_template.jinja"), "{{ messages }}");
  EXPECT_EQ(Json::parse(files.at("generation_config.json")),
            Json({{"eos_token_id", 0}, {"pad_token_id", 1}}));
  EXPECT_FALSE((Model{}.files().contains("chat_template.jinja")));
}

TEST(GgufTokenizer, knows_pre_tokenizers_by_name) {
  const auto with = [](const std::string& name) {
    return Model{
        .entries = {text("tokenizer.ggml.pre", name), integer("tokenizer.ggml.bos_token_id", 0)}}
        .tokenizer();
  };
  for (const char* name : {"", "default", "gpt-2"}) {
    EXPECT_EQ(with(name).at("pre_tokenizer").at("type"), "ByteLevel") << name;
    EXPECT_EQ(with(name).at("pre_tokenizer").at("use_regex"), true) << name;
  }
  EXPECT_EQ(Model{}.tokenizer(),
            Model{.entries = {text("tokenizer.ggml.pre", "gpt-2")}}.tokenizer());
  const auto smollm = with("smollm").at("pre_tokenizer").at("pretokenizers");
  EXPECT_EQ(smollm[0], Json({{"type", "Digits"}, {"individual_digits", true}}));
  EXPECT_EQ(smollm[1].at("use_regex"), true);
  const auto llama = with("llama-bpe");
  EXPECT_EQ(llama.at("model").at("ignore_merges"), true);
  EXPECT_EQ(llama.at("post_processor").at("single")[0].at("SpecialToken").at("id"), "<e>");
  const auto pattern = [](const Json& json) {
    return json.at("pre_tokenizer").at("pretokenizers")[0].at("pattern").at("Regex");
  };
  EXPECT_NE(pattern(llama).get<std::string>().find(R"(\p{N}{1,3})"), std::string::npos);
  const auto qwen2 = with("qwen2");
  EXPECT_EQ(qwen2.at("normalizer"), Json({{"type", "NFC"}}));
  EXPECT_EQ(qwen2.at("model").at("ignore_merges"), false);
  EXPECT_TRUE(qwen2.at("post_processor").is_null());
  EXPECT_EQ(with("deepseek-r1-qwen").at("normalizer"), nullptr);
  EXPECT_EQ(pattern(with("deepseek-r1-qwen")), pattern(qwen2));
  expect_user_error([&] { (void)with("tekken"); }, "'tokenizer.ggml.pre' is 'tekken'");
}

TEST(GgufTokenizer, refuses_what_is_damaged_or_of_another_kind) {
  const auto refuses = [](Model model, const char* part) {
    expect_user_error([&] { (void)model.files(); }, part);
  };
  refuses({.left_out = {"tokens"}}, "'tokenizer.ggml.tokens' is missing");
  refuses({.left_out = {"merges"}}, "'tokenizer.ggml.merges' is missing");
  refuses({.left_out = {"model"}}, "'tokenizer.ggml.model' is missing");
  refuses({.entries = {text("tokenizer.ggml.model", "llama")}, .left_out = {"model"}},
          "'tokenizer.ggml.model' is 'llama'");
  const auto merges = [](const std::string& merge) {
    return Model{.entries = {[=](B& b) {
                   Model::add_texts(b, "merges", {"a b", merge});
                 }},
                 .left_out = {"merges"}};
  };
  for (const char* merge : {"", "ab", " b", "a ", "a b c", "a  b"}) {
    refuses(merges(merge), "merge 1 is not two tokens");
  }
  const auto tokens = [](const std::vector<std::string>& names) {
    return Model{.entries = {[=](B& b) { Model::add_texts(b, "tokens", names); }},
                 .left_out = {"tokens"}};
  };
  refuses(tokens({"a", "b", "a"}), "tokens 0 and 2 are the same");
  refuses(tokens({"a", ""}), "token 1 is empty");
  refuses({.entries = {[](B& b) {
             b.key("tokenizer.ggml.token_type", B::array);
             b.put<std::uint32_t>(B::i32).put<std::uint64_t>(1).put(1);
           }}},
          "1 items for 4 tokens");
}

/// Every tensor that Python wrote is there with its bits.
void expect_weights(const std::string& name) {
  const auto source = open_weights(golden_data / (name + ".gguf"));
  const SafetensorsFile expected(golden_data / (name + ".safetensors"));
  EXPECT_EQ(source->tensors().size(), expected.header().tensors.size());
  for (const auto& tensor : expected.header().tensors) {
    const auto index = source->find(tensor.name);
    ASSERT_GE(index, 0) << tensor.name;
    EXPECT_EQ(source->tensors()[static_cast<std::size_t>(index)].shape, tensor.shape);
    std::vector<float> want(static_cast<std::size_t>(tensor.elements()));
    expected.read(tensor, want);
    std::vector<float> got(want.size());
    source->read(index, 0, got);
    EXPECT_EQ(got, want) << tensor.name;
    const std::size_t third = want.size() / 3;
    std::vector<float> part(third);
    source->read(index, static_cast<std::int64_t>(third), part);
    EXPECT_TRUE(
        std::equal(part.begin(), part.end(), want.begin() + static_cast<std::ptrdiff_t>(third)))
        << tensor.name;
  }
}

TEST(GgufWeights, have_hugging_faces_names_and_order_of_rows) {
  expect_weights("llama");
  expect_weights("qwen3");
}

TEST(GgufWeights, load_as_the_model_of_their_configuration) {
  const GgufFile file(golden_data / "llama.gguf");
  const GgufView view{file.header(), file.file().bytes(), "llama.gguf"};
  const auto config = ModelConfig::from_json(gguf_config_json(view), "llama.gguf");
  EXPECT_EQ(config.eos_token_ids, (std::vector<base::TokenId>{0, 2}));
  EXPECT_EQ(config.rope_theta, 100000.0);
  const ParameterLayout layout(config);
  std::vector<float> flat(static_cast<std::size_t>(layout.total()), 7.0F);
  load_weights(golden_data / "llama.gguf", config, flat);
  const SafetensorsFile expected(golden_data / "llama.safetensors");
  for (const auto& place : layout.tensors()) {
    std::vector<float> want(static_cast<std::size_t>(place.size));
    expected.read(*expected.find(place.name), want);
    EXPECT_TRUE(std::equal(want.begin(), want.end(), flat.begin() + place.offset)) << place.name;
  }
}

TEST(GgufWeights, of_other_architectures_are_refused) {
  const TemporaryDirectory directory;
  const auto path = directory.write("m.gguf", Model{.architecture = "gemma"}.build().text());
  expect_user_error([&] { (void)open_weights(path); }, "general.architecture is 'gemma'");
  Model odd{.tensors = {"blk.0.attn_q.weight"}};
  odd.entries = {integer("llama.attention.head_count", 3)};
  odd.left_out = {"attention.head_count"};
  const auto damaged = directory.write("n.gguf", odd.build().text());
  expect_user_error([&] { (void)open_weights(damaged); }, "8 rows for 3 heads");
}

}  // namespace
}  // namespace physarum::model
