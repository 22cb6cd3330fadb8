#include "sampler.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "physarum/base/philox.hpp"

namespace physarum::rollout {
namespace {

constexpr std::int64_t vocab = 150;

std::vector<float> some_logits(float spread = 2.0F) {
  const base::RandomStream stream(1, base::StreamKind::test);
  std::vector<float> logits;
  for (std::uint32_t i = 0; i < vocab; ++i) {
    logits.push_back(spread * static_cast<float>(stream.normal(0, i)));
  }
  return logits;
}

std::vector<double> softmax(const std::vector<float>& logits, double temperature) {
  std::vector<double> p;
  double sum = 0;
  for (const float logit : logits) p.push_back(std::exp(static_cast<double>(logit) / temperature));
  for (const double value : p) sum += value;
  for (double& value : p) value /= sum;
  return p;
}

sample::SamplingOptions options_of(double temperature, std::int64_t top_k = -1, double top_p = 1) {
  sample::SamplingOptions options;
  options.temperature = temperature;
  options.top_k = top_k;
  options.top_p = top_p;
  return options;
}

/// Draws and compares counts with what `p` (renormalised) expects. Tokens that are expected less
/// than ten times are one class. The bound is the 99.99 % point of a chi-square by Wilson and
/// Hilferty.
void expect_distribution(const std::vector<float>& logits, const sample::SamplingOptions& options,
                         std::vector<double> p, const Shaping& shaping = {}) {
  constexpr int draws = 40000;
  double mass = 0;
  for (const double value : p) mass += value;
  for (double& value : p) value /= mass;
  Sampler sampler(vocab);
  const base::RandomStream stream(9, base::StreamKind::sampling);
  std::vector<double> counts(vocab);
  for (int i = 0; i < draws; ++i) {
    const auto drawn =
        sampler.draw(logits.data(), options, stream.uniform(7, std::uint32_t(i)), shaping);
    ASSERT_GE(drawn.token, 0);
    counts[static_cast<std::size_t>(drawn.token)] += 1;
  }
  double chi = 0;
  double rare_expected = 0;
  double rare_counted = 0;
  double classes = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (p[i] == 0) {
      ASSERT_EQ(counts[i], 0) << "token " << i << " is outside the set";
    } else if (draws * p[i] < 10) {
      rare_expected += draws * p[i];
      rare_counted += counts[i];
    } else {
      chi += std::pow(counts[i] - draws * p[i], 2) / (draws * p[i]);
      ++classes;
    }
  }
  if (rare_expected > 0) {
    chi += std::pow(rare_counted - rare_expected, 2) / rare_expected;
    ++classes;
  }
  const double freedom = classes - 1;
  const double part = 2 / (9 * freedom);
  EXPECT_LT(chi, freedom * std::pow(1 - part + 3.719 * std::sqrt(part), 3));
}

TEST(Sampler, draws_from_the_softmax) {
  const auto logits = some_logits();
  expect_distribution(logits, options_of(1.0), softmax(logits, 1.0));
  expect_distribution(logits, options_of(0.7), softmax(logits, 0.7));
  expect_distribution(logits, options_of(3.0), softmax(logits, 3.0));
}

std::vector<double> keep_likeliest(std::vector<double> p, std::size_t count) {
  std::vector<double> sorted = p;
  std::sort(sorted.rbegin(), sorted.rend());
  for (double& value : p) value = value >= sorted[count - 1] ? value : 0;
  return p;
}

TEST(Sampler, draws_from_the_top_k_set) {
  const auto logits = some_logits();
  expect_distribution(logits, options_of(1.0, 5), keep_likeliest(softmax(logits, 1.0), 5));
}

std::size_t nucleus_size(const std::vector<double>& p, double share) {
  std::vector<double> sorted = p;
  std::sort(sorted.rbegin(), sorted.rend());
  double total = 0;
  for (const double value : sorted) total += value;
  double mass = 0;
  std::size_t count = 0;
  while (mass < share * total) mass += sorted[count++];
  return count;
}

TEST(Sampler, draws_from_the_top_p_set) {
  const auto logits = some_logits();
  const auto p = softmax(logits, 1.0);
  const auto count = nucleus_size(p, 0.8);
  ASSERT_GT(count, 3U);
  expect_distribution(logits, options_of(1.0, -1, 0.8), keep_likeliest(p, count));
}

TEST(Sampler, top_p_takes_its_share_of_the_top_k_set) {
  const auto logits = some_logits();
  const auto p = keep_likeliest(softmax(logits, 1.0), 10);
  const auto count = nucleus_size(p, 0.6);
  ASSERT_LT(count, 10U);
  expect_distribution(logits, options_of(1.0, 10, 0.6), keep_likeliest(p, count));
}

std::vector<double> keep_share_of_likeliest(std::vector<double> p, double share) {
  const double least = share * *std::max_element(p.begin(), p.end());
  for (double& value : p) value = value >= least ? value : 0;
  return p;
}

std::size_t support(const std::vector<double>& p) {
  return p.size() - static_cast<std::size_t>(std::count(p.begin(), p.end(), 0.0));
}

TEST(Sampler, draws_from_the_min_p_set) {
  const auto logits = some_logits();
  for (const double temperature : {1.0, 2.0}) {
    auto options = options_of(temperature);
    options.min_p = 0.1;
    // The threshold is one after temperature: the hotter, the more tokens pass it.
    const auto p = keep_share_of_likeliest(softmax(logits, temperature), 0.1);
    ASSERT_GT(support(p), 3U);
    ASSERT_LT(support(p), std::size_t{vocab});
    expect_distribution(logits, options, p);
  }
}

TEST(Sampler, min_p_takes_its_part_of_the_top_k_and_top_p_sets) {
  const auto logits = some_logits();
  const auto all = softmax(logits, 1.0);
  auto options = options_of(1.0, 40, 0.9);
  const auto by_k = keep_likeliest(all, 40);
  const auto by_p = keep_likeliest(by_k, nucleus_size(by_k, 0.9));
  for (const double min_p : {0.3, 0.01}) {
    options.min_p = min_p;
    const auto p = keep_share_of_likeliest(by_p, min_p);
    EXPECT_EQ(support(p) < support(by_p), min_p == 0.3);
    expect_distribution(logits, options, p);
  }
}

TEST(Sampler, min_p_of_one_leaves_the_likeliest_and_its_equals) {
  auto logits = some_logits();
  logits[20] = logits[90] = 50.0F;
  auto options = options_of(1.0);
  options.min_p = 1;
  Sampler sampler(vocab);
  std::set<base::TokenId> seen;
  for (int i = 0; i < 100; ++i) {
    seen.insert(sampler.draw(logits.data(), options, i / 100.0).token);
  }
  EXPECT_EQ(seen, (std::set<base::TokenId>{20, 90}));
}

TEST(Sampler, no_set_takes_in_a_token_without_mass) {
  std::vector<float> logits(vocab, -std::numeric_limits<float>::infinity());
  logits[10] = logits[100] = 0.0F;
  Sampler sampler(vocab);
  const double last = std::nextafter(1.0, 0.0);
  for (const auto& options : {options_of(1.0), options_of(1.0, 50), options_of(1.0, 50, 0.999)}) {
    EXPECT_EQ(sampler.draw(logits.data(), options, last).token, 100);
    EXPECT_EQ(sampler.draw(logits.data(), options, 0.0).token, 10);
  }
}

TEST(Sampler, rounding_draws_no_token_without_mass) {
  // Sums over masses of many magnitudes are rounded, so that the last number may lie behind all.
  const base::RandomStream stream(5, base::StreamKind::test);
  Sampler sampler(vocab);
  for (std::uint64_t round = 0; round < 2000; ++round) {
    std::vector<float> logits(vocab, -std::numeric_limits<float>::infinity());
    for (std::uint32_t i = 0; i < 60; ++i) {
      logits[i] = -40.0F * static_cast<float>(stream.uniform(round, i));
    }
    for (const auto& options : {options_of(1.0), options_of(1.0, 100)}) {
      const auto drawn = sampler.draw(logits.data(), options, std::nextafter(1.0, 0.0));
      ASSERT_LT(drawn.token, 60) << "round " << round;
    }
  }
}

TEST(Sampler, top_k_of_everything_is_the_whole_softmax) {
  const auto logits = some_logits();
  expect_distribution(logits, options_of(1.0, vocab, 1.0), softmax(logits, 1.0));
  expect_distribution(logits, options_of(1.0, vocab - 1, 1.0),
                      keep_likeliest(softmax(logits, 1.0), vocab - 1));
}

TEST(Sampler, equals_are_kept_in_the_order_of_ids) {
  const std::vector<float> logits(vocab, 0.5F);
  Sampler sampler(vocab);
  std::set<base::TokenId> seen;
  for (int i = 0; i < 100; ++i) {
    seen.insert(sampler.draw(logits.data(), options_of(1.0, 4), i / 100.0).token);
  }
  EXPECT_EQ(seen, (std::set<base::TokenId>{0, 1, 2, 3}));
}

TEST(Sampler, log_prob_is_that_of_the_whole_softmax) {
  const auto logits = some_logits();
  Sampler sampler(vocab);
  auto with_min_p = options_of(0.9);
  with_min_p.min_p = 0.2;
  for (const auto& options :
       {options_of(1.0), options_of(0.5), options_of(1.0, 3, 0.9), with_min_p}) {
    const auto p = softmax(logits, options.temperature);
    for (int i = 0; i < 20; ++i) {
      const auto drawn = sampler.draw(logits.data(), options, i / 20.0);
      EXPECT_NEAR(static_cast<double>(drawn.log_prob),
                  std::log(p[static_cast<std::size_t>(drawn.token)]), 1e-5);
    }
  }
}

Shaping forbid(const std::vector<base::TokenId>& tokens) { return {.forbidden = tokens}; }

TEST(Sampler, what_is_forbidden_leaves_its_mass_to_the_others) {
  auto logits = some_logits();
  logits[33] = 30.0F;  // nearly all of the mass
  const std::vector<base::TokenId> tokens = {33, 70};
  auto p = softmax(logits, 1.0);
  p[33] = p[70] = 0;
  expect_distribution(logits, options_of(1.0), p, forbid(tokens));
  expect_distribution(logits, options_of(1.0, 5), keep_likeliest(p, 5), forbid(tokens));
}

/// The log-prob of a token that was drawn from the unchanged logits, by token.
std::map<base::TokenId, float> plain_log_probs(const std::vector<float>& logits,
                                               const sample::SamplingOptions& options) {
  Sampler sampler(vocab);
  std::map<base::TokenId, float> result;
  for (int i = 0; i < 4000; ++i) {
    const auto drawn = sampler.draw(logits.data(), options, i / 4000.0);
    result.emplace(drawn.token, drawn.log_prob);
  }
  return result;
}

TEST(Sampler, what_is_forbidden_does_not_change_a_bit_of_the_log_probs_of_the_others) {
  const auto logits = some_logits();
  const auto plain = plain_log_probs(logits, options_of(0.7));
  // The likeliest, so that its mass goes elsewhere.
  const auto likeliest = std::max_element(logits.begin(), logits.end()) - logits.begin();
  const std::vector<base::TokenId> tokens = {static_cast<base::TokenId>(likeliest), 70};
  Sampler sampler(vocab);
  int compared = 0;
  for (int i = 0; i < 200; ++i) {
    const auto drawn = sampler.draw(logits.data(), options_of(0.7), i / 200.0, forbid(tokens));
    const auto expected = plain.find(drawn.token);
    if (expected == plain.end()) continue;
    EXPECT_EQ(drawn.log_prob, expected->second);
    ++compared;
  }
  EXPECT_GT(compared, 150);
}

TEST(Sampler, draws_from_the_penalised_softmax_and_records_the_other) {
  auto logits = some_logits();
  logits[12] = 8.0F;
  auto options = options_of(0.9);
  options.repetition_penalty = 1.5;
  options.presence_penalty = 0.5;
  options.frequency_penalty = 0.25;
  const std::vector<base::TokenId> prompt = {12, 40};
  SeenTokens seen(prompt);
  for (const base::TokenId token : {40, 50, 50, 50}) seen.push(token);
  auto penalised = logits;
  penalise(seen, options, penalised.data());
  const Shaping shaping = {.forbidden = {}, .seen = &seen};
  expect_distribution(logits, options, softmax(penalised, 0.9), shaping);
  const auto plain = plain_log_probs(logits, options_of(0.9));
  Sampler sampler(vocab);
  int compared = 0;
  for (int i = 0; i < 200; ++i) {
    const auto drawn = sampler.draw(logits.data(), options, i / 200.0, shaping);
    const auto expected = plain.find(drawn.token);
    if (expected == plain.end()) continue;
    EXPECT_EQ(drawn.log_prob, expected->second);
    ++compared;
  }
  EXPECT_GT(compared, 150);
}

TEST(Sampler, a_penalty_that_takes_all_mass_from_the_likeliest_leaves_exact_shares) {
  // In fp32, exponentials below the old maximum would all be 0.
  std::vector<float> logits(vocab, -10.0F);
  logits[0] = 200.0F;
  logits[1] = 1.0F;
  logits[2] = 0.0F;
  auto options = options_of(1.0);
  options.repetition_penalty = 100;
  SeenTokens seen({});
  seen.push(0);
  std::vector<float> penalised = logits;
  penalise(seen, options, penalised.data());
  ASSERT_EQ(penalised[0], 2.0F);
  expect_distribution(logits, options, softmax(penalised, 1.0), {.forbidden = {}, .seen = &seen});
}

TEST(Sampler, temperature_zero_takes_the_likeliest_of_what_is_allowed) {
  auto logits = some_logits();
  logits[20] = 50.0F;
  logits[21] = 49.0F;
  const std::vector<base::TokenId> tokens = {20};
  Sampler sampler(vocab);
  const auto drawn = sampler.draw(logits.data(), options_of(0.0), 0.5, forbid(tokens));
  EXPECT_EQ(drawn.token, 21);
  auto options = options_of(0.0);
  options.presence_penalty = 1.5;
  SeenTokens seen({});
  seen.push(20);
  EXPECT_EQ(sampler.draw(logits.data(), options, 0.5, {.forbidden = {}, .seen = &seen}).token, 21);
  EXPECT_NEAR(static_cast<double>(drawn.log_prob), std::log(softmax(logits, 1.0)[21]), 1e-5);
}

TEST(Sampler, nothing_is_drawn_if_everything_is_forbidden) {
  const auto logits = some_logits();
  std::vector<base::TokenId> tokens(vocab);
  std::iota(tokens.begin(), tokens.end(), 0);
  Sampler sampler(vocab);
  for (const double temperature : {1.0, 0.0, 0.3}) {
    EXPECT_EQ(sampler.draw(logits.data(), options_of(temperature), 0.5, forbid(tokens)).token, -1);
  }
}

TEST(Sampler, temperature_zero_takes_the_first_takes_the_first_of_the_likeliest) {
  auto logits = some_logits();
  logits[20] = logits[90] = 50.0F;
  logits[21] = 49.0F;
  Sampler sampler(vocab);
  const auto drawn = sampler.draw(logits.data(), options_of(0.0), 0.99);
  EXPECT_EQ(drawn.token, 20);
  EXPECT_NEAR(static_cast<double>(drawn.log_prob), std::log(softmax(logits, 1.0)[20]), 1e-5);
}

TEST(Sampler, the_ends_of_the_uniform_numbers_give_tokens_with_mass) {
  std::vector<float> logits(vocab, -200.0F);
  logits[10] = logits[100] = 0.0F;
  Sampler sampler(vocab);
  const double last = std::nextafter(1.0, 0.0);
  EXPECT_EQ(sampler.draw(logits.data(), options_of(1.0), 0.0).token, 10);
  EXPECT_EQ(sampler.draw(logits.data(), options_of(1.0), last).token, 100);
  EXPECT_EQ(sampler.draw(logits.data(), options_of(1.0, 2), last).token, 100);
  EXPECT_LE(sampler.draw(logits.data(), options_of(1.0), 0.0).log_prob, 0.0F);
}

TEST(Sampler, says_that_nothing_can_be_drawn_from_numbers_that_are_not_finite) {
  Sampler sampler(vocab);
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (const std::size_t at : {std::size_t{0}, std::size_t{77}, std::size_t{149}}) {
      auto logits = some_logits();
      logits[at] = bad;
      EXPECT_EQ(sampler.draw(logits.data(), options_of(1.0), 0.5).token, -1);
      EXPECT_EQ(sampler.draw(logits.data(), options_of(0.0), 0.5).token, -1);
    }
  }
  const std::vector<float> nothing(vocab, -std::numeric_limits<float>::infinity());
  EXPECT_EQ(sampler.draw(nothing.data(), options_of(1.0), 0.5).token, -1);
}

}  // namespace
}  // namespace physarum::rollout
