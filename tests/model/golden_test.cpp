#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "physarum/model/hf_directory.hpp"
#include "physarum/model/safetensors.hpp"
#include "physarum/model/transformer.hpp"

#include "model/golden_gradients.hpp"

namespace physarum::model {
namespace {

/// Models, inputs and results that tests/golden/make_model_golden.py took from transformers.
class Golden : public testing::TestWithParam<const char*> {
 protected:
  Golden()
      : directory_(std::filesystem::path(PHYSARUM_TEST_DATA) / GetParam()),
        config_(ModelConfig::from_file(directory_ / "config.json")),
        store_(config_, Gradients::allocate),
        golden_(directory_ / "golden.safetensors") {
    load_weights(directory_, config_, store_.values());
    for (const float token : read("tokens")) {
      batch_.tokens.push_back(static_cast<base::TokenId>(token));
    }
    batch_.sequence_starts = integers("sequence_starts");
    batch_.targets = integers("targets");
  }

  std::vector<float> read(const std::string& name) {
    const auto* tensor = golden_.find(name);
    if (tensor == nullptr) throw std::runtime_error("golden file has no " + name);
    std::vector<float> values(static_cast<std::size_t>(tensor->elements()));
    golden_.read(*tensor, values);
    return values;
  }
  std::vector<std::int64_t> integers(const std::string& name) {
    const auto values = read(name);
    return {values.begin(), values.end()};
  }

  std::filesystem::path directory_;
  ModelConfig config_;
  ParameterStore store_;
  SafetensorsFile golden_;
  PackedBatch batch_;
};

double largest_difference(std::span<const float> a, std::span<const float> b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    largest = std::max(largest, std::abs(double{a[i]} - double{b[i]}));
  }
  return largest;
}

TEST_P(Golden, logits_agree_with_transformers) {
  Transformer transformer(config_, store_);
  EXPECT_LE(largest_difference(transformer.logits(batch_), read("logits")), 1e-4);
}

TEST_P(Golden, log_probs_and_entropies_agree_with_transformers) {
  Transformer transformer(config_, store_);
  const auto scores = transformer.forward(
      batch_, {.temperature = read("temperature").front(), .entropy = Entropy::compute});
  EXPECT_LE(largest_difference(scores.log_probs, read("log_probs")), 1e-4);
  EXPECT_LE(largest_difference(scores.entropies, read("entropies")), 1e-4);
}

TEST_P(Golden, gradients_agree_with_transformers) {
  Transformer transformer(config_, store_);
  const auto scores = transformer.forward(batch_, {.temperature = read("temperature").front(),
                                                   .keep = Keep::for_backward,
                                                   .entropy = Entropy::compute});
  const auto count = scores.log_probs.size();
  const std::vector<float> d_log_probs(count, 1.0F / static_cast<float>(count));
  const std::vector<float> d_entropies(count, 0.1F / static_cast<float>(count));
  transformer.backward(d_log_probs, d_entropies);
  expect_gradients(store_, 1e-4, [this](const std::string& name) { return read(name); });
}

INSTANTIATE_TEST_SUITE_P(Models, Golden, testing::Values("qwen2_tied", "llama_odd", "llama_biased"),
                         [](const auto& case_) { return std::string(case_.param); });

}  // namespace
}  // namespace physarum::model
