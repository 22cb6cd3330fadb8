#include <string>

#include <gtest/gtest.h>

#include "physarum/model/config.hpp"

#include "expect_user_error.hpp"

namespace physarum::model {
namespace {

/// A small valid config.json of a family with `extra` fields in front.
std::string text_of(const std::string& type, const std::string& extra) {
  return "{" + extra + R"("model_type": ")" + type + R"(", "hidden_size": 64,
      "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
      "intermediate_size": 96, "vocab_size": 97, "max_position_embeddings": 128})";
}

ModelConfig read_family(const std::string& type, const std::string& extra = "") {
  return ModelConfig::from_json(text_of(type, extra), "config.json");
}

void expect_refused(const std::string& type, const std::string& extra, const std::string& field) {
  expect_user_error([&] { (void)read_family(type, extra); }, field);
}

using Layers = std::vector<bool>;

TEST(FamilyConfig, are_six) {
  EXPECT_EQ(model_types(), (std::vector<std::string>{"llama", "mistral", "mixtral", "qwen2",
                                                     "qwen3", "qwen3_moe"}));
  for (const auto& type : model_types()) EXPECT_EQ(read_family(type).model_type, type);
}

TEST(FamilyConfig, have_their_own_defaults) {
  EXPECT_EQ(read_family("llama").rope_theta, 1e4);
  EXPECT_EQ(read_family("mixtral").rope_theta, 1e6);
  EXPECT_EQ(read_family("mixtral").rms_norm_eps, 1e-5);
  EXPECT_EQ(read_family("qwen3").head_dim, 128);
  EXPECT_EQ(read_family("qwen3_moe").head_dim, 16);
  EXPECT_EQ(read_family("mistral").sliding_window, 4096);
  EXPECT_EQ(read_family("mixtral").sliding_window, 0);
}

TEST(FamilyConfig, have_their_own_biases_and_norms) {
  const auto qwen2 = read_family("qwen2");
  EXPECT_TRUE(qwen2.query_key_value_bias && !qwen2.output_bias && !qwen2.query_key_norm);
  const auto qwen3 = read_family("qwen3");
  EXPECT_TRUE(!qwen3.query_key_value_bias && !qwen3.output_bias && qwen3.query_key_norm);
  const auto llama = read_family("llama", R"("attention_bias": true, "mlp_bias": true, )");
  EXPECT_TRUE(llama.query_key_value_bias && llama.output_bias && llama.feed_forward_bias);
  EXPECT_TRUE(read_family("qwen3_moe", R"("attention_bias": true, )").output_bias);
  EXPECT_FALSE(read_family("mistral", R"("attention_bias": true, )").output_bias);
}

TEST(FamilyConfig, mistral_has_its_window_in_all_layers_or_none) {
  const auto config = read_family("mistral", R"("sliding_window": 12, "head_dim": null, )");
  EXPECT_EQ(config.sliding_window, 12);
  EXPECT_EQ(config.window_layers, Layers(4, true));
  EXPECT_EQ(config.head_dim, 16);
  EXPECT_EQ(read_family("mistral", R"("sliding_window": null, )").window(0), 0);
  EXPECT_EQ(read_family("mistral", R"("head_dim": 24, )").head_dim, 24);
}

TEST(FamilyConfig, qwen_has_its_window_where_the_file_says) {
  const std::string window = R"("use_sliding_window": true, "sliding_window": 12, )";
  for (const char* type : {"qwen2", "qwen3"}) {
    EXPECT_EQ(read_family(type, window + R"("max_window_layers": 3, )").window_layers,
              (Layers{false, false, false, true}));
    const auto named = read_family(type, window + R"("layer_types": ["sliding_attention",
        "full_attention", "full_attention", "sliding_attention"], )");
    EXPECT_EQ(named.window_layers, (Layers{true, false, false, true}));
    EXPECT_EQ(named.window(0), 12);
    EXPECT_EQ(named.window(1), 0);
    EXPECT_EQ(read_family(type, window + R"("max_window_layers": 0, )").window_layers,
              Layers(4, true));
    // From the 28th layer on, if nothing is said: this model has none.
    EXPECT_EQ(read_family(type, window).sliding_window, 0);
    expect_refused(type, R"("layer_types": ["sliding_attention", "full_attention",
        "full_attention", "full_attention"], )",
                   "layer_types");
    expect_refused(type, window + R"("layer_types": ["full_attention"], )", "layer_types");
    expect_refused(type, window + R"("layer_types": ["chunked_attention", "full_attention",
        "full_attention", "full_attention"], )",
                   "chunked_attention");
    expect_refused(type, window + R"("max_window_layers": -1, )", "max_window_layers");
    expect_refused(type, R"("use_sliding_window": true, "sliding_window": 0, )", "sliding_window");
  }
  EXPECT_EQ(read_family("qwen3_moe", window).window_layers, Layers(4, true));
}

TEST(FamilyConfig, llama_has_no_window) {
  expect_refused("llama", R"("sliding_window": 12, )", "sliding_window");
  expect_refused("llama", R"("layer_types": ["sliding_attention"], )", "layer_types");
  EXPECT_NO_THROW((void)read_family("llama", R"("sliding_window": null, )"));
}

TEST(FamilyConfig, reads_scaled_rotary_positions_in_both_spellings) {
  const std::string values = R"("factor": 8.0, "low_freq_factor": 1.5, "high_freq_factor": 4.0,
      "original_max_position_embeddings": 64)";
  for (const std::string& text :
       {R"("rope_theta": 500000.0, "rope_scaling": {"rope_type": "llama3", )" + values + "}, ",
        R"("rope_parameters": {"rope_theta": 500000.0, "rope_type": "llama3", )" + values +
            "}, "}) {
    const auto config = read_family("llama", text);
    EXPECT_EQ(config.rope_theta, 500000.0);
    EXPECT_EQ(config.rope_scaling.kind, RopeScaling::Kind::llama3);
    EXPECT_EQ(config.rope_scaling.factor, 8.0);
    EXPECT_EQ(config.rope_scaling.low_freq_factor, 1.5);
    EXPECT_EQ(config.rope_scaling.high_freq_factor, 4.0);
    EXPECT_EQ(config.rope_scaling.original_positions, 64);
  }
  const auto linear = read_family("llama", R"("rope_scaling": {"type": "linear", "factor": 2}, )");
  EXPECT_EQ(linear.rope_scaling.kind, RopeScaling::Kind::linear);
  EXPECT_EQ(linear.rope_scaling.factor, 2.0);
}

TEST(FamilyConfig, refuses_bad_rotary_positions_by_field) {
  const auto llama3 = [](const std::string& values) {
    return R"("rope_scaling": {"rope_type": "llama3")" + values + "}, ";
  };
  expect_refused("llama", llama3(""), "factor");
  expect_refused("llama", llama3(R"(, "factor": 0)"), "factor");
  expect_refused("llama", llama3(R"(, "factor": 8, "high_freq_factor": 4)"), "low_freq_factor");
  expect_refused("llama", llama3(R"(, "factor": 8, "low_freq_factor": 4, "high_freq_factor": 4)"),
                 "high_freq_factor");
  expect_refused("llama", llama3(R"(, "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4,
      "original_max_position_embeddings": -5)"),
                 "original_max_position_embeddings");
  for (const char* type : {"yarn", "dynamic", "longrope", "proportional", "mrope"}) {
    expect_refused(
        "qwen3", R"("rope_scaling": {"factor": 4.0, "rope_type": ")" + std::string(type) + "\"}, ",
        type);
  }
  expect_refused("qwen3", R"("rope_scaling": "yarn", )", "rope_scaling");
  expect_refused("qwen3", R"("rope_scaling": {"type": 7}, )", "type");
}

TEST(FamilyConfig, reads_experts) {
  const auto mixtral =
      read_family("mixtral", R"("num_local_experts": 5, "num_experts_per_tok": 3, )");
  EXPECT_EQ(mixtral.experts, (ExpertConfig{.count = 5,
                                           .per_token = 3,
                                           .intermediate_size = 96,
                                           .normalise = true,
                                           .layers = Layers(4, true)}));
  const auto qwen = read_family("qwen3_moe", R"("num_experts": 6, "num_experts_per_tok": 2,
      "moe_intermediate_size": 20, "decoder_sparse_step": 2, "mlp_only_layers": [3], )");
  EXPECT_EQ(qwen.experts, (ExpertConfig{.count = 6,
                                        .per_token = 2,
                                        .intermediate_size = 20,
                                        .normalise = false,
                                        .layers = {false, true, false, false}}));
  EXPECT_TRUE(qwen.has_experts(1));
  EXPECT_FALSE(qwen.has_experts(3));
  EXPECT_TRUE(read_family("qwen3_moe", R"("norm_topk_prob": true, )").experts.normalise);
  EXPECT_EQ(read_family("qwen3_moe", R"("num_local_experts": 16, )").experts.count, 16);
  EXPECT_FALSE(read_family("qwen3").has_experts());
}

TEST(FamilyConfig, refuses_bad_experts_by_field) {
  expect_refused("mixtral", R"("num_experts_per_tok": 9, )", "num_experts_per_tok");
  expect_refused("mixtral", R"("num_local_experts": 0, )", "num_local_experts");
  expect_refused("mixtral", R"("num_local_experts": 2000, )", "num_experts");
  expect_refused("mixtral", R"("router_jitter_noise": 0.1, )", "router_jitter_noise");
  expect_refused("qwen3_moe", R"("num_experts": 4, "num_experts_per_tok": 5, )",
                 "num_experts_per_tok");
  expect_refused("qwen3_moe", R"("mlp_only_layers": [4], )", "mlp_only_layers");
  expect_refused("qwen3_moe", R"("mlp_only_layers": [-1], )", "mlp_only_layers");
  expect_refused("qwen3_moe", R"("mlp_only_layers": 2, )", "mlp_only_layers");
  expect_refused("qwen3_moe", R"("mlp_only_layers": [0, 1, 2, 3], )", "mlp_only_layers");
  expect_refused("qwen3_moe", R"("decoder_sparse_step": 5, )", "decoder_sparse_step");
  expect_refused("qwen3_moe", R"("decoder_sparse_step": 0, )", "decoder_sparse_step");
  expect_refused("qwen3_moe", R"("moe_intermediate_size": 1000000, )", "moe_intermediate_size");
}

TEST(FamilyConfig, refuses_more_experts_than_there_can_be) {
  auto text = text_of("mixtral", R"("num_local_experts": 1000, )");
  const std::string layers = R"("num_hidden_layers": 4)";
  text.replace(text.find(layers), layers.size(), R"("num_hidden_layers": 4000)");
  expect_user_error([&] { (void)ModelConfig::from_json(text, "c.json"); }, "4000000 experts");
}

TEST(FamilyConfig, refuses_what_no_family_can_compute) {
  for (const auto& type : model_types()) {
    expect_refused(type, R"("hidden_act": "gelu_pytorch_tanh", )", "gelu_pytorch_tanh");
    expect_refused(type, R"("attention_dropout": 0.1, )", "attention_dropout");
    expect_refused(type, R"("architectures": ["BertModel"], )", "architectures");
    expect_refused(type, R"("quantization_config": {"bits": 4}, )", "quantization_config");
    if (type != "llama") expect_refused(type, R"("mlp_bias": true, )", "mlp_bias");
  }
  expect_refused("gemma3", "", "gemma3");
  expect_user_error([] { (void)read_family("gpt2"); }, "qwen3_moe");  // says what there is
}

TEST(FamilyConfig, reads_what_it_writes) {
  const std::string window = R"("use_sliding_window": true, "sliding_window": 12, )";
  const std::pair<const char*, std::string> cases[] = {
      {"llama", R"("attention_bias": true, "mlp_bias": true, "rope_scaling": {"rope_type": "llama3",
          "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4}, )"},
      {"llama", R"("rope_scaling": {"rope_type": "linear", "factor": 3}, )"},
      {"mistral", ""},
      {"mistral", R"("sliding_window": null, )"},
      {"mixtral", R"("sliding_window": 9, "num_local_experts": 4, )"},
      {"mixtral", ""},
      {"qwen2", window + R"("max_window_layers": 2, )"},
      {"qwen3", window + R"("max_window_layers": 1, "attention_bias": true, )"},
      {"qwen3", ""},
      {"qwen3_moe", window + R"("mlp_only_layers": [1], "norm_topk_prob": true, )"},
      {"qwen3_moe", R"("decoder_sparse_step": 2, )"},
  };
  for (const auto& [type, extra] : cases) {
    const auto config = read_family(type, extra);
    EXPECT_EQ(ModelConfig::from_json(config.to_json(), "written"), config) << type << extra;
  }
}

TEST(FamilyConfig, refuses_what_was_put_together_wrongly) {
  auto config = read_family("mixtral");
  config.experts.layers.pop_back();
  expect_user_error([&] { config.validate("here"); }, "layer");
  config = read_family("mistral");
  config.window_layers.clear();
  expect_user_error([&] { config.validate("here"); }, "window");
  config = read_family("qwen3");
  config.model_type = "qwen4";
  expect_user_error([&] { config.validate("here"); }, "qwen4");
}

}  // namespace
}  // namespace physarum::model
