#include "physarum/model/transformer.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"

#include "scalar_loss.hpp"
#include "small_models.hpp"

namespace physarum::model {
namespace {

std::vector<float> copy(std::span<const float> values) { return {values.begin(), values.end()}; }

/// A store with random values; norm weights and biases too.
ParameterStore random_store(const ModelConfig& config) {
  ParameterStore store(config, Gradients::allocate);
  randomise(config, 9, store);
  return store;
}

struct Outcome {
  std::vector<float> log_probs;
  std::vector<float> gradients;
};

Outcome run(ParameterStore& store, Transformer& transformer, const PackedBatch& batch) {
  store.zero_gradients();
  Outcome result;
  result.log_probs = copy(transformer.forward(batch, {.keep = Keep::for_backward}).log_probs);
  std::vector<float> d_log_probs;
  for (std::size_t i = 0; i < result.log_probs.size(); ++i) {
    d_log_probs.push_back(0.1F * static_cast<float>(i % 7) - 0.2F);
  }
  transformer.backward(d_log_probs);
  result.gradients = copy(store.gradients());
  return result;
}

TEST(Transformer, has_the_same_bits_for_the_same_input) {
  for (const auto& config : {small_config(), odd_config()}) {
    auto store = random_store(config);
    const auto batch = random_batch(config, {7, 20, 33}, 3);
    Transformer transformer(config, store);
    const auto first = run(store, transformer, batch);
    // Other sizes in between leave other things in its memory.
    (void)run(store, transformer, random_batch(config, {50, 3, 3, 61}, 1));
    (void)transformer.logits(random_batch(config, {2}, 1));
    const auto second = run(store, transformer, batch);
    Transformer fresh(config, store);
    const auto third = run(store, fresh, batch);
    EXPECT_EQ(first.log_probs, second.log_probs);
    EXPECT_EQ(first.gradients, second.gradients);
    EXPECT_EQ(first.log_probs, third.log_probs);
    EXPECT_EQ(first.gradients, third.gradients);
  }
}

TEST(Transformer, scores_a_sequence_the_same_in_every_batch) {
  const auto config = small_config();
  auto store = random_store(config);
  Transformer transformer(config, store);
  const auto batch = random_batch(config, {7, 20, 1, 33}, 3);
  const auto together = copy(transformer.forward(batch, {}).log_probs);
  std::vector<float> alone;
  for (std::size_t s = 0; s + 1 < batch.sequence_starts.size(); ++s) {
    PackedBatch one;
    one.append(std::span(batch.tokens)
                   .subspan(static_cast<std::size_t>(batch.sequence_starts[s]),
                            static_cast<std::size_t>(batch.sequence_starts[s + 1] -
                                                     batch.sequence_starts[s])),
               3);
    const auto scores = transformer.forward(one, {}).log_probs;
    alone.insert(alone.end(), scores.begin(), scores.end());
  }
  EXPECT_EQ(together, alone);
}

TEST(Transformer, scores_are_the_same_whatever_is_kept_and_whoever_looks) {
  const auto config = odd_config();
  auto store = random_store(config);
  Transformer transformer(config, store);
  auto batch = random_batch(config, {9, 21}, 1);
  const auto all = copy(transformer.forward(batch, {}).log_probs);
  const auto kept = copy(transformer.forward(batch, {.keep = Keep::for_backward}).log_probs);
  EXPECT_EQ(all, kept);
  const auto targets = batch.targets;
  batch.targets = {targets[4], targets[11], targets[27]};
  EXPECT_EQ(copy(transformer.forward(batch, {}).log_probs),
            (std::vector<float>{all[4], all[11], all[27]}));
}

TEST(Transformer, log_probs_are_those_of_its_logits) {
  const auto config = small_config();
  auto store = random_store(config);
  Transformer transformer(config, store);
  const auto batch = random_batch(config, {6, 11}, 2);
  const auto logits = transformer.logits(batch);
  const double temperature = 0.7;
  const auto scores =
      transformer.forward(batch, {.temperature = temperature, .entropy = Entropy::compute});
  for (std::size_t i = 0; i < batch.targets.size(); ++i) {
    const auto target = static_cast<std::size_t>(batch.targets[i]);
    const float* row = logits.data() + (target - 1) * static_cast<std::size_t>(config.vocab_size);
    double sum = 0;
    for (int v = 0; v < config.vocab_size; ++v) sum += std::exp(row[v] / temperature);
    EXPECT_NEAR(scores.log_probs[i], row[batch.tokens[target]] / temperature - std::log(sum), 1e-5);
    double entropy = 0;
    for (int v = 0; v < config.vocab_size; ++v) {
      const double log_p = row[v] / temperature - std::log(sum);
      entropy -= std::exp(log_p) * log_p;
    }
    EXPECT_NEAR(scores.entropies[i], entropy, 1e-5);
  }
}

TEST(Transformer, gradients_agree_with_finite_differences) {
  for (const auto& config : {small_config(), odd_config()}) {
    auto store = random_store(config);
    ScalarLoss loss(config, store, random_batch(config, {5, 19, 8}, 2));
    expect_gradients_of_differences(store, loss);
  }
}

TEST(Transformer, adds_to_the_gradients_and_leaves_gaps_at_zero) {
  const auto config = odd_config();
  auto store = random_store(config);
  ScalarLoss loss(config, store, random_batch(config, {12, 5}, 2));
  loss.differentiate();
  const auto once = copy(store.gradients());
  ScalarLoss again(config, store, random_batch(config, {12, 5}, 2));
  Transformer transformer(config, store);
  const auto batch = random_batch(config, {4}, 1);
  (void)transformer.forward(batch, {.keep = Keep::for_backward});
  transformer.backward(std::vector<float>(3, 0.0F));
  EXPECT_EQ(copy(store.gradients()), once);  // a zero gradient adds nothing
  const auto gradients = store.gradients();
  std::size_t at = 0;
  for (const auto& place : store.layout().tensors()) {
    for (; at < static_cast<std::size_t>(place.offset); ++at) ASSERT_EQ(gradients[at], 0.0F);
    at += static_cast<std::size_t>(place.size);
  }
}

TEST(Transformer, big_vocabularies_are_scored_in_chunks) {
  auto config = small_config();
  config.hidden_size = 8;
  config.vocab_size = 70'000;
  config.tie_word_embeddings = false;
  auto store = random_store(config);
  const auto batch = random_batch(config, {40, 40}, 1);
  ASSERT_GT(batch.n_targets() * config.vocab_size, std::int64_t{1} << 22);
  Transformer transformer(config, store);
  const auto in_chunks = run(store, transformer, batch);
  Outcome one_by_one;
  std::vector<float> sums(in_chunks.gradients.size(), 0.0F);
  auto single = batch;
  for (std::size_t i = 0; i < batch.targets.size(); ++i) {
    single.targets = {batch.targets[i]};
    store.zero_gradients();
    const auto score = transformer.forward(single, {.keep = Keep::for_backward}).log_probs[0];
    one_by_one.log_probs.push_back(score);
    transformer.backward(std::vector<float>{0.1F * static_cast<float>(i % 7) - 0.2F});
    for (std::size_t e = 0; e < sums.size(); ++e) sums[e] += store.gradients()[e];
  }
  EXPECT_EQ(in_chunks.log_probs, one_by_one.log_probs);
  double largest = 0;
  double difference = 0;
  for (std::size_t e = 0; e < sums.size(); ++e) {
    largest = std::max(largest, std::abs(double{sums[e]}));
    difference = std::max(difference, std::abs(double{sums[e]} - in_chunks.gradients[e]));
  }
  EXPECT_LT(difference, 1e-4 * largest);
}

TEST(Transformer, accepts_batches_without_targets) {
  const auto config = small_config();
  auto store = random_store(config);
  store.zero_gradients();
  Transformer transformer(config, store);
  PackedBatch batch;
  EXPECT_TRUE(transformer.forward(batch, {.keep = Keep::for_backward}).log_probs.empty());
  transformer.backward({});
  batch.append(std::vector<base::TokenId>{1, 2, 3}, 3);
  EXPECT_TRUE(transformer.forward(batch, {.keep = Keep::for_backward}).log_probs.empty());
  transformer.backward({});
  EXPECT_TRUE(std::ranges::all_of(store.gradients(), [](float g) { return g == 0.0F; }));
}

TEST(Transformer, can_be_moved) {
  const auto config = small_config();
  auto store = random_store(config);
  const auto batch = random_batch(config, {6}, 1);
  Transformer first(config, store);
  const auto before = copy(first.forward(batch, {}).log_probs);
  Transformer second = std::move(first);
  EXPECT_EQ(copy(second.forward(batch, {}).log_probs), before);
}

TEST(Transformer, backward_is_for_a_forward_that_kept) {
  const auto config = small_config();
  auto store = random_store(config);
  Transformer transformer(config, store);
  const auto batch = random_batch(config, {6}, 1);
  const std::vector<float> d_log_probs(5, 1.0F);
  EXPECT_THROW(transformer.backward(d_log_probs), base::ContractViolation);
  (void)transformer.forward(batch, {});
  EXPECT_THROW(transformer.backward(d_log_probs), base::ContractViolation);
  (void)transformer.forward(batch, {.keep = Keep::for_backward});
  EXPECT_THROW(transformer.backward(d_log_probs, d_log_probs), base::ContractViolation);
  EXPECT_THROW(transformer.backward(std::vector<float>(4)), base::ContractViolation);
  transformer.backward(d_log_probs);
  EXPECT_THROW(transformer.backward(d_log_probs), base::ContractViolation);
}

}  // namespace
}  // namespace physarum::model
