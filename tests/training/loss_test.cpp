#include "loss.hpp"

#include <numeric>

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"

#include "token_weights.hpp"
#include "training/golden.hpp"

namespace physarum::training {
namespace {

using nlohmann::json;
using test::floats;

/// The golden tokens with what TokenBatch needs around them.
struct GoldenTokens {
  explicit GoldenTokens(const json& golden, const LossOptions& options)
      : log_probs(floats(golden["tokens"]["log_probs"])),
        old(floats(golden["tokens"]["old"])),
        rollout(floats(golden["tokens"]["rollout"])),
        reference(floats(golden["tokens"]["reference"])),
        entropies(floats(golden["tokens"]["entropies"])),
        advantages(golden["advantages"].get<std::vector<double>>()),
        d_log_probs(log_probs.size()),
        d_entropies(log_probs.size()) {
    sample::BatchPlan plan;
    plan.micro_batches = {{{{}}}};
    for (const std::int64_t length : golden["lengths"]) {
      starts.push_back(starts.back() + length);
      plan.micro_batches[0][0][0].push_back(static_cast<std::int64_t>(plan.samples.size()));
      plan.samples.emplace_back().trained_tokens = length;
    }
    weights = token_weights(plan, 0, options);
  }

  TokenBatch batch(std::string_view old_source) const {
    TokenBatch tokens;
    tokens.sample_starts = starts;
    tokens.advantages = advantages;
    tokens.token_weights = weights;
    tokens.log_probs = log_probs;
    tokens.entropies = entropies;
    tokens.rollout_log_probs = rollout;
    tokens.reference_log_probs = reference;
    if (old_source == "pass") tokens.old_log_probs = tokens.trainer_log_probs = old;
    if (old_source == "rollout") tokens.old_log_probs = rollout;
    return tokens;
  }

  std::vector<float> log_probs, old, rollout, reference, entropies;
  std::vector<std::int64_t> starts{0};
  std::vector<double> advantages, weights;
  std::vector<float> d_log_probs, d_entropies;
};

TEST(Loss, agrees_with_autograd_and_trl) {
  const json golden = test::read_golden("losses.json");
  ASSERT_GE(golden["cases"].size(), 17U);
  for (const json& one : golden["cases"]) {
    SCOPED_TRACE(one["name"]);
    const LossOptions options = test::loss_options(one["options"]);
    GoldenTokens tokens(golden, options);
    LossSums sums;
    policy_loss(tokens.batch(one["old"].get<std::string>()), options, sums,
                {tokens.d_log_probs, tokens.d_entropies});
    const auto metrics = loss_metrics(sums, options);
    for (const auto& [name, value] : one["metrics"].items()) {
      EXPECT_NEAR(metrics.at("train/" + name), value.get<double>(), 1e-12) << name;
    }
    test::expect_near(tokens.d_log_probs, one["d_log_probs"], 1e-7);
    test::expect_near(tokens.d_entropies, one["d_entropies"], 1e-9);
    if (!one.contains("trl_loss")) continue;
    EXPECT_NEAR(metrics.at("train/loss"), one["trl_loss"].get<double>(), 1e-12);
    test::expect_near(tokens.d_log_probs, one["trl_d_log_probs"], 1e-7);
  }
}

TEST(Loss, of_given_answers_agrees_with_autograd) {
  const json golden = test::read_golden("losses.json");
  for (const bool per_token : {false, true}) {
    LossOptions options;
    options.type = LossType::sft_loss;
    options.calculate_per_token_loss = per_token;
    GoldenTokens tokens(golden, options);
    LossSums sums;
    supervised_loss(tokens.batch("none"), sums, {tokens.d_log_probs, tokens.d_entropies});
    const json& expected = golden["supervised"][per_token ? "per_token" : "per_sample"];
    EXPECT_NEAR(loss_metrics(sums, options).at("train/loss"), expected["loss"].get<double>(),
                1e-12);
    test::expect_near(tokens.d_log_probs, expected["d_log_probs"], 1e-7);
  }
}

TEST(Loss, of_parts_sums_up_to_that_of_the_whole) {
  const json golden = test::read_golden("losses.json");
  const LossOptions options = test::loss_options(golden["cases"].back()["options"]);
  GoldenTokens tokens(golden, options);
  const TokenBatch whole = tokens.batch("pass");
  LossSums at_once;
  policy_loss(whole, options, at_once, {tokens.d_log_probs, tokens.d_entropies});
  LossSums in_parts;
  for (std::size_t s = 0; s < whole.n_samples(); ++s) {
    const auto from = static_cast<std::size_t>(tokens.starts[s]);
    const auto count = static_cast<std::size_t>(tokens.starts[s + 1]) - from;
    const std::vector<std::int64_t> starts{0, static_cast<std::int64_t>(count)};
    TokenBatch part{starts,
                    whole.advantages.subspan(s, 1),
                    whole.token_weights.subspan(s, 1),
                    whole.log_probs.subspan(from, count),
                    whole.entropies.subspan(from, count),
                    whole.old_log_probs.subspan(from, count),
                    whole.trainer_log_probs.subspan(from, count),
                    whole.rollout_log_probs.subspan(from, count),
                    whole.reference_log_probs.subspan(from, count)};
    std::vector<float> d_log_probs(count), d_entropies(count);
    policy_loss(part, options, in_parts, {d_log_probs, d_entropies});
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(d_log_probs[i], tokens.d_log_probs[from + i]);
    }
  }
  for (std::size_t term = 0; term < at_once.values().size(); ++term) {
    EXPECT_NEAR(in_parts.values()[term], at_once.values()[term], 1e-14);
  }
}

TEST(Loss, refuses_tokens_without_what_it_needs) {
  const json golden = test::read_golden("losses.json");
  LossOptions options;
  options.use_tis = true;
  GoldenTokens tokens(golden, options);
  TokenBatch batch = tokens.batch("pass");
  batch.rollout_log_probs = {};
  LossSums sums;
  EXPECT_THROW(policy_loss(batch, options, sums, {tokens.d_log_probs, tokens.d_entropies}),
               base::ContractViolation);
}

}  // namespace
}  // namespace physarum::training
