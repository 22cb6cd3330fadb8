#include <utility>

#include "trainer_impl.hpp"

namespace physarum::training {
namespace {

base::Scalars mean_of(const std::vector<base::Scalars>& steps) {
  base::Scalars means;
  for (const auto& step : steps) {
    for (const auto& [name, value] : step) {
      means[name] += value / static_cast<double>(steps.size());
    }
  }
  return means;
}

void add_batch(base::Scalars& scalars, const sample::BatchPlan& plan,
               const std::vector<double>& advantages) {
  const auto count = static_cast<double>(plan.samples.size());
  double advantage = 0;
  double reward = 0;
  for (std::size_t i = 0; i < plan.samples.size(); ++i) {
    advantage += advantages[i] / count;
    reward += plan.samples[i].reward / count;
  }
  scalars["rollout/advantages"] = advantage;
  scalars["rollout/raw_reward"] = reward;
  scalars["train/global_batch_size"] = count / static_cast<double>(plan.micro_batches.size());
}

void add_times(base::Scalars& scalars, const StepTimes& times) {
  if (times.old_log_probs_s > 0) scalars["perf/log_probs_time"] = times.old_log_probs_s;
  if (times.reference_s > 0) scalars["perf/ref_log_probs_time"] = times.reference_s;
  scalars["perf/actor_train_time"] = times.train_s;
  scalars["perf/train_time"] = times.old_log_probs_s + times.reference_s + times.train_s;
  if (times.tokens > 0) {
    scalars["perf/backward_token_ratio"] =
        static_cast<double>(times.backward_tokens) / static_cast<double>(times.tokens);
  }
  if (times.train_s > 0) {
    scalars["perf/actor_train_tok_per_s"] = static_cast<double>(times.tokens) / times.train_s;
  }
}

}  // namespace

StepMetrics summarise_step(std::vector<base::Scalars> steps, const sample::BatchPlan& plan,
                           const std::vector<double>& advantages, const StepTimes& times) {
  StepMetrics metrics{mean_of(steps), std::move(steps)};
  // A count since the start has no mean.
  if (!metrics.optimiser_steps.empty()) {
    metrics.scalars["train/skipped_steps"] =
        metrics.optimiser_steps.back().at("train/skipped_steps");
  }
  add_batch(metrics.scalars, plan, advantages);
  add_times(metrics.scalars, times);
  return metrics;
}

}  // namespace physarum::training
