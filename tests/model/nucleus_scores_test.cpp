#include "nucleus_scores.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"

#include "physarum/model/hf_directory.hpp"
#include "physarum/model/safetensors.hpp"
#include "physarum/model/transformer.hpp"

#include "model/golden_gradients.hpp"
#include "model/scalar_loss.hpp"
#include "small_models.hpp"

namespace physarum::model {
namespace {

using Tokens = std::vector<base::TokenId>;

std::vector<float> copied(std::span<const float> values) { return {values.begin(), values.end()}; }

/// The target and some others, in rising order; every fourth is empty.
base::TokenSets random_nuclei(const ModelConfig& config, const PackedBatch& batch) {
  const base::RandomStream stream(21, base::StreamKind::test);
  base::TokenSets nuclei;
  for (std::int64_t i = 0; i < batch.n_targets(); ++i) {
    std::set<base::TokenId> ids;
    if (i % 4 != 3) {
      ids.insert(
          batch.tokens[static_cast<std::size_t>(batch.targets[static_cast<std::size_t>(i)])]);
      for (std::uint32_t more = 0; more < 6; ++more) {
        ids.insert(static_cast<base::TokenId>(
            stream.below(static_cast<std::uint64_t>(config.vocab_size / 2),
                         static_cast<std::uint64_t>(i), more)));
      }
    }
    nuclei.push(Tokens(ids.begin(), ids.end()));
  }
  return nuclei;
}

class NucleusGolden : public testing::TestWithParam<const char*> {
 protected:
  NucleusGolden()
      : directory_(std::filesystem::path(PHYSARUM_TEST_DATA) / GetParam()),
        config_(ModelConfig::from_file(directory_ / "config.json")),
        store_(config_, Gradients::allocate),
        golden_(directory_ / "nucleus.safetensors") {
    load_weights(directory_, config_, store_.values());
    batch_.tokens = read_as<base::TokenId>("tokens");
    batch_.sequence_starts = read_as<std::int64_t>("sequence_starts");
    batch_.targets = read_as<std::int64_t>("targets");
    batch_.nuclei = {read_as<base::TokenId>("ids"), read_as<std::int64_t>("ends")};
  }

  std::vector<float> read(const std::string& name) {
    const auto* tensor = golden_.find(name);
    if (tensor == nullptr) throw std::runtime_error("golden file has no " + name);
    std::vector<float> values(static_cast<std::size_t>(tensor->elements()));
    golden_.read(*tensor, values);
    return values;
  }
  template <class T>
  std::vector<T> read_as(const std::string& name) {
    std::vector<T> values;
    for (const float value : read(name)) values.push_back(static_cast<T>(value));
    return values;
  }
  void expect_near(std::span<const float> values, const std::string& name) {
    const auto expected = read(name);
    ASSERT_EQ(values.size(), expected.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_NEAR(values[i], expected[i], 1e-5) << name << " of target " << i;
    }
  }

  std::filesystem::path directory_;
  ModelConfig config_;
  ParameterStore store_;
  SafetensorsFile golden_;
  PackedBatch batch_;
};

TEST_P(NucleusGolden, scores_and_gradients_are_those_of_torch) {
  Transformer transformer(config_, store_);
  const auto scores = transformer.forward(batch_, {.temperature = read("temperature").front(),
                                                   .keep = Keep::for_backward,
                                                   .entropy = Entropy::compute});
  expect_near(scores.log_probs, "log_probs");
  expect_near(scores.entropies, "entropies");
  const auto count = static_cast<float>(batch_.n_targets());
  std::vector<float> d_log_probs, d_entropies;
  for (std::int64_t i = 0; i < batch_.n_targets(); ++i) {
    d_log_probs.push_back((0.5F - 0.2F * static_cast<float>(i % 6)) / count);
    d_entropies.push_back(0.1F * static_cast<float>(i % 4) / count);
  }
  transformer.backward(d_log_probs, d_entropies);
  expect_gradients(store_, 1e-5, [this](const std::string& name) { return read(name); });
}

INSTANTIATE_TEST_SUITE_P(Models, NucleusGolden, testing::Values("qwen2_tied", "llama_odd"),
                         [](const auto& case_) { return std::string(case_.param); });

TEST(NucleusScores, gradients_agree_with_finite_differences) {
  for (const auto& config : {small_config(), odd_config()}) {
    ParameterStore store(config, Gradients::allocate);
    randomise(config, 9, store);
    auto batch = random_batch(config, {5, 19, 8}, 2);
    batch.nuclei = random_nuclei(config, batch);
    ScalarLoss loss(config, store, batch);
    expect_gradients_of_differences(store, loss);
  }
}

/// Whether the logits are kept from forward to backward or computed again.
TEST(NucleusScores, no_gradient_goes_to_tokens_outside) {
  auto config = odd_config();
  for (const std::int64_t vocab : {std::int64_t{33}, std::int64_t{70000}}) {
    config.vocab_size = vocab;
    ParameterStore store(config, Gradients::allocate);
    randomise(config, 9, store);
    auto batch = random_batch(config, {40, 30}, 1);
    ASSERT_EQ(batch.n_targets() * vocab > (std::int64_t{1} << 22), vocab == 70000);
    // Every target has a nucleus: a few ids, and none from the last third of the vocabulary.
    base::TokenSets nuclei;
    std::set<base::TokenId> inside;
    for (std::int64_t i = 0; i < batch.n_targets(); ++i) {
      const auto place = static_cast<std::size_t>(batch.targets[static_cast<std::size_t>(i)]);
      batch.tokens[place] %= 20;
      const std::set<base::TokenId> ids{batch.tokens[place], 3, 17, static_cast<int>(i % 11)};
      nuclei.push(Tokens(ids.begin(), ids.end()));
      inside.insert(ids.begin(), ids.end());
    }
    batch.nuclei = nuclei;
    ScalarLoss(config, store, batch).differentiate();
    const auto& tensors = store.layout().tensors();
    const auto head = std::ranges::find_if(tensors, [](const auto& tensor) {
      return tensor.name.find("lm_head.weight") != std::string::npos;
    });
    ASSERT_NE(head, tensors.end());
    const auto gradients = store.gradients(head - tensors.begin());
    const auto width = static_cast<std::size_t>(config.hidden_size);
    for (std::int64_t id = 0; id < vocab; ++id) {
      const auto row = gradients.subspan(static_cast<std::size_t>(id) * width, width);
      const bool all_zero = std::ranges::all_of(row, [](float value) { return value == 0.0F; });
      ASSERT_EQ(all_zero, !inside.contains(static_cast<base::TokenId>(id))) << "token " << id;
    }
  }
}

TEST(NucleusScores, a_nucleus_of_all_tokens_changes_no_bit) {
  const auto config = odd_config();
  ParameterStore store(config, Gradients::allocate);
  randomise(config, 9, store);
  auto batch = random_batch(config, {12, 5}, 2);
  Transformer transformer(config, store);
  ScalarLoss(config, store, batch).differentiate();
  const auto plain = copied(transformer.forward(batch, {}).log_probs);
  const auto gradients = copied(store.gradients());
  Tokens all;
  for (base::TokenId id = 0; id < config.vocab_size; ++id) all.push_back(id);
  for (std::int64_t i = 0; i < batch.n_targets(); ++i) batch.nuclei.push(all);
  ScalarLoss(config, store, batch).differentiate();
  EXPECT_EQ(copied(transformer.forward(batch, {}).log_probs), plain);
  EXPECT_EQ(copied(store.gradients()), gradients);
}

TEST(NucleusScores, targets_behind_the_last_nucleus_count_all_tokens) {
  const auto config = small_config();
  ParameterStore store(config, Gradients::none);
  randomise(config, 9, store);
  auto batch = random_batch(config, {12}, 2);
  Transformer transformer(config, store);
  const auto plain = copied(transformer.forward(batch, {}).log_probs);
  batch.nuclei.push(Tokens{batch.tokens[2]});
  const auto cut = copied(transformer.forward(batch, {}).log_probs);
  EXPECT_NEAR(cut[0], 0, 1e-5);
  EXPECT_NE(cut[0], plain[0]);
  EXPECT_TRUE(std::equal(cut.begin() + 1, cut.end(), plain.begin() + 1));
}

TEST(NucleusScores, a_nucleus_that_does_not_fit_is_refused) {
  const auto config = small_config();
  auto batch = random_batch(config, {3}, 2);
  const auto token = batch.tokens[2] = 7;
  const auto refused = [&](const base::TokenSets& nuclei) {
    batch.nuclei = nuclei;
    EXPECT_THROW(batch.check(config), base::ContractViolation);
  };
  batch.nuclei = {{token}, {1}};
  EXPECT_NO_THROW(batch.check(config));
  refused({{token}, {2}});
  refused({{token - 1}, {1}});
  refused({{token, token}, {2}});
  refused({{-1, token}, {2}});
  refused({{token, static_cast<base::TokenId>(config.vocab_size)}, {2}});
  refused({{token, token}, {1, 2}});
}

}  // namespace
}  // namespace physarum::model
