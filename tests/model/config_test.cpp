#include "physarum/model/config.hpp"

#include <string>

#include <gtest/gtest.h>

#include "expect_user_error.hpp"
#include "small_models.hpp"
#include "temporary_directory.hpp"

namespace physarum::model {
namespace {

/// A small valid config.json with `extra` fields in front.
std::string config_with(const std::string& extra) {
  return "{" + extra +
         R"("model_type": "qwen2", "hidden_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96,
        "vocab_size": 97, "max_position_embeddings": 128})";
}

ModelConfig read(const std::string& extra) {
  return ModelConfig::from_json(config_with(extra), "config.json");
}

TEST(ModelConfig, reads_sizes_and_defaults) {
  const auto config = read(R"("rope_theta": 5000.0, "eos_token_id": [3, 5], )");
  EXPECT_EQ(config.model_type, "qwen2");
  EXPECT_EQ(config.head_dim, 16);
  EXPECT_EQ(config.attention_width(), 128);
  EXPECT_EQ(config.rope_theta, 5000.0);
  EXPECT_EQ(config.rms_norm_eps, 1e-6);
  EXPECT_FALSE(config.tie_word_embeddings);
  EXPECT_TRUE(config.query_key_value_bias);
  EXPECT_FALSE(config.output_bias);
  EXPECT_EQ(config.eos_token_ids, (std::vector<base::TokenId>{3, 5}));
}

TEST(ModelConfig, reads_the_newer_spelling_of_rotary_positions) {
  const auto config =
      read(R"("rope_parameters": {"rope_theta": 7000.0, "rope_type": "default"}, )");
  EXPECT_EQ(config.rope_theta, 7000.0);
}

TEST(ModelConfig, counts_parameters) {
  const auto config = small_config();
  EXPECT_EQ(config.parameter_count(),
            40 * 32 + 2 * (64 * 32 + 64 + 32 * 32 + 3 * 64 * 32 + 2 * 32) + 32);
}

TEST(ModelConfig, reads_what_it_writes) {
  for (auto config : {small_config(), odd_config()}) {
    config.eos_token_ids = {1, 2};
    config.bos_token_ids = {0};
    EXPECT_EQ(ModelConfig::from_json(config.to_json(), "written"), config);
  }
}

TEST(ModelConfig, refuses_what_it_cannot_compute_and_names_the_field) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("rope_scaling": {"rope_type": "yarn", "factor": 4.0}, )", "'yarn'"},
      {R"("rope_scaling": {"type": "dynamic", "factor": 4.0}, )", "'dynamic'"},
      {R"("rope_parameters": {"rope_type": "longrope", "rope_theta": 1.0}, )", "'longrope'"},
      {R"("rope_scaling": {"factor": 4.0}, )", "rope_scaling"},
      {R"("rope_parameters": {"full_attention": {}}, )", "rope_parameters"},
      {R"("rope_scaling": {"type": "default"}, "rope_parameters": {"rope_theta": 1.0}, )",
       "rope_parameters"},
      {R"("architectures": ["Qwen2ForSequenceClassification"], )", "architectures"},
      {R"("partial_rotary_factor": 0.5, )", "partial_rotary_factor"},
      {R"("layer_types": ["full_attention", "sliding_attention"], )", "layer_types"},
      {R"("hidden_act": "gelu", )", "hidden_act"},
      {R"("attention_dropout": 0.1, )", "attention_dropout"},
      {R"("mlp_bias": true, )", "mlp_bias"},
      {R"("quantization_config": {}, )", "quantization_config"},
  };
  for (const auto& [extra, field] : cases) expect_user_error([&] { (void)read(extra); }, field);
}

TEST(ModelConfig, accepts_the_width_of_a_window_that_is_not_used) {
  const auto config = read(R"("use_sliding_window": false, "sliding_window": 4096, )");
  EXPECT_EQ(config.sliding_window, 0);
  EXPECT_EQ(config.window(1), 0);
}

TEST(ModelConfig, refuses_bad_values_and_names_the_field) {
  const auto replaced = [](const std::string& from, const std::string& to) {
    auto text = config_with("");
    return text.replace(text.find(from), from.size(), to);
  };
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {R"("qwen2")", R"("mamba")", "model_type"},
      {R"("hidden_size": 64)", R"("hidden_size": -64)", "hidden_size"},
      {R"("hidden_size": 64)", R"("hidden_size": 64.5)", "hidden_size"},
      {R"("hidden_size": 64)", R"("hidden_size": 1e300)", "hidden_size"},
      {R"("hidden_size": 64, )", "", "hidden_size"},
      {R"("hidden_size": 64)", R"("hidden_size": 2147483648)", "hidden_size"},
      {R"("hidden_size": 64)", R"("hidden_size": 60)", "head_dim"},
      {R"("num_key_value_heads": 2)", R"("num_key_value_heads": 3)", "num_key_value_heads"},
      {R"("vocab_size": 97)", R"("vocab_size": "97")", "vocab_size"},
      {R"("vocab_size": 97)", R"("vocab_size": 97, "eos_token_id": 97)", "eos_token_id"},
      {R"("vocab_size": 97)", R"("vocab_size": 97, "eos_token_id": "end")", "eos_token_id"},
      {R"("vocab_size": 97)", R"("vocab_size": 97, "rope_theta": 0)", "rope_theta"},
  };
  for (const auto& [from, to, field] : cases) {
    expect_user_error([&] { (void)ModelConfig::from_json(replaced(from, to), "c.json"); }, field);
  }
}

TEST(ModelConfig, refuses_what_is_no_json_object) {
  for (const char* text : {"", "[1]", "{", "7"}) {
    expect_user_error([&] { (void)ModelConfig::from_json(text, "c.json"); }, "c.json");
  }
}

TEST(ModelConfig, names_a_file_that_is_missing_or_too_large) {
  const TemporaryDirectory directory;
  expect_user_error([&] { (void)ModelConfig::from_file(directory.path() / "none.json"); },
                    "none.json");
  const auto large = directory.write("large.json", std::string((1 << 20) + 1, ' '));
  expect_user_error([&] { (void)ModelConfig::from_file(large); }, "large.json");
}

TEST(ModelConfig, reads_the_built_in_model) {
  const std::filesystem::path path =
      std::filesystem::path(PHYSARUM_INPUTS) / "model-small/config.json";
  const auto config = ModelConfig::from_file(path);
  EXPECT_EQ(config.hidden_size, 128);
  EXPECT_EQ(config.parameter_count(), 1'116'800);
}

}  // namespace
}  // namespace physarum::model
