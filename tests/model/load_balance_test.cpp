#include "load_balance.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"

namespace physarum::model {
namespace {

ModelConfig two_experts() {
  ModelConfig config;
  config.experts = {
      .count = 2, .per_token = 1, .intermediate_size = 1, .normalise = false, .layers = {}};
  return config;
}

ExpertRouting route(const std::vector<float>& logits) {
  ExpertRouting routing(two_experts().experts);
  routing.route(logits.data(), static_cast<std::int64_t>(logits.size()) / 2);
  return routing;
}

TEST(LoadBalance, is_1_if_experts_are_used_alike) {
  LoadBalance balance(two_experts());
  const std::vector<std::int64_t> starts{0, 2};
  balance.begin(starts);
  balance.add(route({3.0F, -3.0F, -3.0F, 3.0F}));
  EXPECT_NEAR(balance.losses()[0], 1.0F, 1e-6);
}

TEST(LoadBalance, counts_layers_and_sequences_by_themselves) {
  LoadBalance balance(two_experts());
  const std::vector<std::int64_t> starts{0, 1, 3};
  balance.begin(starts);
  const float sure = 40.0F;  // a probability of 1
  balance.add(route({sure, 0, sure, 0, 0, sure}));
  balance.add(route({sure, 0, sure, 0, sure, 0}));
  // The first sequence uses one expert only; the second chooses expert 0 three times of four.
  EXPECT_NEAR(balance.losses()[0], 2.0F, 1e-6);
  EXPECT_NEAR(balance.losses()[1], 2.0F * (0.75F * 0.75F + 0.25F * 0.25F), 1e-6);
  const std::vector<float> d_losses{0.0F, 0.5F};
  const auto gradient = balance.gradient(d_losses);
  // 0.5 * experts * choices / (tokens * layers)^2
  EXPECT_EQ(gradient.d_probabilities[0], 0.0F);
  EXPECT_NEAR(gradient.d_probabilities[2], 0.5F * 2 * 3 / 16, 1e-6);
  EXPECT_NEAR(gradient.d_probabilities[3], 0.5F * 2 * 1 / 16, 1e-6);
}

TEST(LoadBalance, starts_again) {
  LoadBalance balance(two_experts());
  const std::vector<std::int64_t> starts{0, 1};
  for (int i = 0; i < 2; ++i) {
    balance.begin(starts);
    balance.add(route({40.0F, 0.0F}));
    EXPECT_NEAR(balance.losses()[0], 2.0F, 1e-6);
  }
}

TEST(LoadBalance, is_about_all_tokens) {
  LoadBalance balance(two_experts());
  const std::vector<std::int64_t> starts{0, 3};
  balance.begin(starts);
  EXPECT_THROW(balance.add(route({1.0F, 0.0F})), base::ContractViolation);
}

}  // namespace
}  // namespace physarum::model
