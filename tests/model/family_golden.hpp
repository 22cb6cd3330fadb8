#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "physarum/base/ids.hpp"

#include "physarum/model/config.hpp"
#include "physarum/model/hf_directory.hpp"
#include "physarum/model/packed_batch.hpp"
#include "physarum/model/parameter_store.hpp"
#include "physarum/model/safetensors.hpp"

namespace physarum::model {

inline constexpr const char* family_models[] = {
    "qwen2",   "qwen2_window",   "qwen3",     "qwen3_window",  "llama3",  "llama_linear",
    "mistral", "mistral_window", "qwen3_moe", "qwen3_moe_raw", "mixtral", "mixtral_window"};

inline constexpr const char* expert_family_models[] = {"qwen3_moe", "qwen3_moe_raw", "mixtral",
                                                       "mixtral_window"};

/// A model with inputs and results that tests/golden/make_family_golden.py took from transformers.
class FamilyGolden {
 public:
  static constexpr std::array<std::int64_t, 3> short_lengths{1, 7, 64};
  static constexpr std::int64_t long_length = 1500;

  explicit FamilyGolden(const std::string& name)
      : directory_(std::filesystem::path(PHYSARUM_INPUTS) / "../tests/model/data/family" / name),
        config_(ModelConfig::from_file(directory_ / "config.json")),
        golden_(directory_ / "golden.safetensors") {}

  [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }
  [[nodiscard]] const ModelConfig& config() const { return config_; }
  [[nodiscard]] ParameterStore store(Gradients gradients) const {
    ParameterStore store(config_, gradients);
    load_weights(directory_, config_, store.values());
    return store;
  }
  [[nodiscard]] bool has(const std::string& name) const { return golden_.find(name) != nullptr; }
  [[nodiscard]] std::vector<float> read(const std::string& name) {
    const auto* tensor = golden_.find(name);
    if (tensor == nullptr) throw std::runtime_error("golden file has no " + name);
    std::vector<float> values(static_cast<std::size_t>(tensor->elements()));
    golden_.read(*tensor, values);
    return values;
  }
  [[nodiscard]] std::vector<base::TokenId> tokens(const std::string& name) {
    std::vector<base::TokenId> ids;
    for (const float id : read(name)) ids.push_back(static_cast<base::TokenId>(id));
    return ids;
  }
  [[nodiscard]] std::vector<base::TokenId> prompt(std::int64_t length) {
    return tokens("tokens_" + std::to_string(length));
  }
  /// The first three prompts; all tokens but the first of each are scored.
  [[nodiscard]] PackedBatch short_prompts() {
    PackedBatch batch;
    for (const auto length : short_lengths) batch.append(prompt(length), 1);
    return batch;
  }

  /// Holds the logits of all tokens of the prompt of `length` against those of transformers.
  void expect_logits(std::int64_t length, std::span<const float> logits) {
    const auto vocab = config_.vocab_size;
    ASSERT_EQ(static_cast<std::int64_t>(logits.size()), length * vocab);
    const auto expected = read("logits_" + std::to_string(length));
    if (length < long_length) return expect_near(logits, expected, "prompt", length);
    const auto rows = read("rows_1500");
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto at = static_cast<std::size_t>(static_cast<std::int64_t>(rows[i]) * vocab);
      const auto width = static_cast<std::size_t>(vocab);
      expect_near(logits.subspan(at, width), std::span(expected).subspan(i * width, width), "row",
                  static_cast<std::int64_t>(rows[i]));
    }
    const auto projection = read("projection");
    std::vector<float> projected;
    for (std::int64_t row = 0; row < length; ++row) {
      double sum = 0;
      for (std::int64_t v = 0; v < vocab; ++v) {
        sum += static_cast<double>(logits[static_cast<std::size_t>(row * vocab + v)]) *
               static_cast<double>(projection[static_cast<std::size_t>(v)]);
      }
      projected.push_back(static_cast<float>(sum));
    }
    expect_near(projected, read("projected_1500"), "projections of", length);
  }

 private:
  static void expect_near(std::span<const float> a, std::span<const float> b, const char* what,
                          std::int64_t which) {
    ASSERT_EQ(a.size(), b.size());
    float largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_TRUE(std::isfinite(a[i])) << what << " " << which;
      largest = std::max(largest, std::abs(a[i] - b[i]));
    }
    EXPECT_LE(largest, 1e-4F) << what << " " << which;
  }
  std::filesystem::path directory_;
  ModelConfig config_;
  SafetensorsFile golden_;
};

}  // namespace physarum::model
