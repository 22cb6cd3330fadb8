#include "physarum/model/expert_routing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"
#include "physarum/base/philox.hpp"

namespace physarum::model {
namespace {

ExpertConfig experts(std::int64_t count, std::int64_t per_token, bool normalise) {
  return {.count = count,
          .per_token = per_token,
          .intermediate_size = 1,
          .normalise = normalise,
          .layers = {}};
}

std::vector<float> logits_of(std::size_t count, std::uint64_t item) {
  const base::RandomStream stream(2, base::StreamKind::test);
  std::vector<float> values;
  for (std::uint32_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(stream.normal(item, i)));
  }
  return values;
}

TEST(ExpertRouting, takes_the_likeliest_experts_with_their_probabilities) {
  ExpertRouting routing(experts(4, 2, false));
  const std::vector<float> logits{0.0F, std::log(4.0F), std::log(2.0F), std::log(3.0F)};
  routing.route(logits.data(), 1);
  EXPECT_EQ(routing.chosen()[0], 1);
  EXPECT_EQ(routing.chosen()[1], 3);
  EXPECT_NEAR(routing.weights()[0], 0.4F, 1e-6);
  EXPECT_NEAR(routing.weights()[1], 0.3F, 1e-6);
  EXPECT_NEAR(routing.probabilities()[0], 0.1F, 1e-6);
}

TEST(ExpertRouting, normalises_the_weights_of_a_row_if_asked) {
  ExpertRouting routing(experts(4, 2, true));
  const std::vector<float> logits{0.0F, std::log(4.0F), std::log(2.0F), std::log(3.0F)};
  routing.route(logits.data(), 1);
  EXPECT_NEAR(routing.weights()[0], 4.0F / 7.0F, 1e-6);
  EXPECT_NEAR(routing.weights()[1], 3.0F / 7.0F, 1e-6);
}

TEST(ExpertRouting, prefers_the_lower_of_equals) {
  ExpertRouting routing(experts(5, 3, true));
  const std::vector<float> logits{1.0F, 2.0F, 1.0F, 1.0F, 1.0F};
  routing.route(logits.data(), 1);
  EXPECT_EQ(routing.chosen()[0], 1);
  EXPECT_EQ(routing.chosen()[1], 0);
  EXPECT_EQ(routing.chosen()[2], 2);
}

TEST(ExpertRouting, lists_each_choice_once_by_expert_and_rising) {
  constexpr std::int64_t rows = 50;
  ExpertRouting routing(experts(7, 3, true));
  const auto logits = logits_of(7 * rows, 1);
  routing.route(logits.data(), rows);
  std::vector<bool> seen(static_cast<std::size_t>(routing.choices()), false);
  for (std::int64_t e = 0; e < 7; ++e) {
    std::int64_t previous = -1;
    for (const auto choice : routing.choices_of(e)) {
      EXPECT_GT(choice, previous);
      previous = choice;
      EXPECT_EQ(routing.chosen()[static_cast<std::size_t>(choice)], e);
      EXPECT_FALSE(seen[static_cast<std::size_t>(choice)]);
      seen[static_cast<std::size_t>(choice)] = true;
    }
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 3 * rows);
}

TEST(ExpertRouting, chooses_for_a_row_alone_as_among_others) {
  ExpertRouting routing(experts(6, 2, false));
  const auto logits = logits_of(6 * 9, 4);
  routing.route(logits.data(), 9);
  const std::vector<float> weights(routing.weights().begin(), routing.weights().end());
  const std::vector<std::int32_t> chosen(routing.chosen().begin(), routing.chosen().end());
  for (std::size_t row = 0; row < 9; ++row) {
    routing.route(logits.data() + 6 * row, 1);
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(routing.chosen()[i], chosen[2 * row + i]);
      EXPECT_EQ(routing.weights()[i], weights[2 * row + i]);
    }
  }
}

TEST(ExpertRouting, what_is_not_a_number_shows_in_the_weights) {
  ExpertRouting routing(experts(3, 2, true));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> logits{nan, 1.0F, nan};
  routing.route(logits.data(), 1);
  EXPECT_TRUE(std::isnan(routing.weights()[0]));
  EXPECT_NE(routing.chosen()[0], routing.chosen()[1]);
}

TEST(ExpertRouting, gradients_agree_with_finite_differences) {
  for (const bool normalise : {false, true}) {
    ExpertRouting routing(experts(5, 2, normalise));
    const auto logits = logits_of(10, 3);
    const auto d_weights = logits_of(4, 5);
    const auto d_probabilities = logits_of(10, 6);
    const auto value = [&](std::size_t at, float step) {
      auto moved = logits;
      moved[at] += step;
      routing.route(moved.data(), 2);
      double sum = 0;
      for (std::size_t i = 0; i < 4; ++i) sum += double{d_weights[i]} * routing.weights()[i];
      for (std::size_t i = 0; i < 10; ++i) {
        sum += double{d_probabilities[i]} * routing.probabilities()[i];
      }
      return sum;
    };
    auto gradient = d_probabilities;
    routing.route(logits.data(), 2);
    routing.backward(d_weights, gradient.data());
    for (std::size_t i = 0; i < 10; ++i) {
      constexpr float step = 5e-3F;
      EXPECT_NEAR(gradient[i], (value(i, step) - value(i, -step)) / (2 * step), 2e-4) << i;
    }
  }
}

TEST(ExpertRouting, is_for_some_of_the_experts) {
  EXPECT_THROW(ExpertRouting(experts(3, 4, true)), base::ContractViolation);
  EXPECT_THROW(ExpertRouting(experts(3, 0, true)), base::ContractViolation);
}

}  // namespace
}  // namespace physarum::model
