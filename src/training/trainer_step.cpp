#include <cmath>
#include <string>
#include <utility>

#include "physarum/base/contracts.hpp"
#include "physarum/base/deadline.hpp"
#include "physarum/base/logging.hpp"

#include "physarum/parallel/wait.hpp"

#include "advantages.hpp"
#include "gradient_norm.hpp"
#include "token_weights.hpp"
#include "trainer_impl.hpp"

namespace physarum::training {
namespace {

using Work = std::vector<std::vector<WorkItem>>;

/// One step on fresh samples: the policy that learns is the old policy, its ratio 1.
bool needs_old_policy(const Work& work, const LossOptions& loss) {
  return loss.type == LossType::policy_loss && !loss.use_rollout_logprobs && work.size() > 1;
}

model::ForwardOptions forward_options(const WorkItem& item, const TrainerSetup& setup) {
  model::ForwardOptions options;
  options.temperature = setup.temperature;
  options.keep = item.part == Part::learnt ? model::Keep::for_backward : model::Keep::nothing;
  if (setup.options.loss.type == LossType::policy_loss) options.entropy = model::Entropy::compute;
  if (setup.options.loss.moe_aux_loss_coeff != 0) {
    options.balancing = model::LoadBalancing::compute;
  }
  return options;
}

TokenBatch tokens_of(const WorkItem& item, const model::TokenScores& scores,
                     std::span<const float> reference, const LossOptions& loss) {
  TokenBatch tokens;
  tokens.sample_starts = item.sample_starts;
  tokens.advantages = item.advantages;
  tokens.token_weights = item.token_weights;
  tokens.log_probs = scores.log_probs;
  tokens.entropies = scores.entropies;
  tokens.rollout_log_probs = item.rollout_log_probs;
  tokens.trainer_log_probs = item.old_log_probs;
  tokens.old_log_probs = loss.use_rollout_logprobs ? item.rollout_log_probs : item.old_log_probs;
  tokens.reference_log_probs = reference;
  return tokens;
}

}  // namespace

StepMetrics Trainer::Impl::step(const sample::Batch& batch) {
  const parallel::Phase phase("train");
  base::expects(batch.plan.dp_size() == trainers.size() && batch.dp_rank == trainers.rank(),
                "the plan is for these trainer ranks");
  StepTimes times;
  const std::vector<double> advantages = loss().type == LossType::sft_loss
                                             ? std::vector<double>(batch.plan.samples.size())
                                             : estimate_advantages(batch.plan.samples, loss());
  Work work = plan_work(batch, advantages);
  if (needs_old_policy(work, loss())) ask_old_policy(work, times);
  std::vector<base::Scalars> steps;
  for (const auto& items : work) steps.push_back(optimiser_step(items, times));
  return summarise_step(std::move(steps), batch.plan, advantages, times);
}

std::vector<std::vector<WorkItem>> Trainer::Impl::plan_work(
    const sample::Batch& batch, const std::vector<double>& advantages) const {
  Work work;
  const auto steps = static_cast<std::int64_t>(batch.plan.micro_batches.size());
  for (std::int64_t step = 0; step < steps; ++step) {
    work.push_back(
        make_work(batch, step, advantages, token_weights(batch.plan, step, loss()), loss()));
  }
  return work;
}

std::vector<float> Trainer::Impl::log_probs(const model::PackedBatch& packed) {
  model::ForwardOptions options;
  options.temperature = setup.temperature;
  const auto scores = transformer.forward(packed, options);
  return {scores.log_probs.begin(), scores.log_probs.end()};
}

void Trainer::Impl::ask_old_policy(Work& work, StepTimes& times) {
  const base::Stopwatch watch;
  for (auto& items : work) {
    for (auto& item : items) item.old_log_probs = log_probs(item.packed);
  }
  times.old_log_probs_s += watch.seconds();
}

base::Scalars Trainer::Impl::optimiser_step(const std::vector<WorkItem>& items, StepTimes& times) {
  const base::Stopwatch watch;
  const double reference_before_s = times.reference_s;
  store.zero_gradients();
  LossSums sums;
  for (const auto& item : items) learn(item, sums, times);
  base::Scalars scalars = change_weights(sums);
  times.train_s += watch.seconds() - (times.reference_s - reference_before_s);
  return scalars;
}

std::vector<float> Trainer::Impl::ask_reference(const WorkItem& item, StepTimes& times) {
  if (!reference) return {};
  const base::Stopwatch watch;
  auto log_probs = reference->log_probs(item.packed, setup.temperature);
  times.reference_s += watch.seconds();
  return log_probs;
}

void Trainer::Impl::learn(const WorkItem& item, LossSums& sums, StepTimes& times) {
  const auto reference_log_probs = ask_reference(item, times);
  const auto scores = transformer.forward(item.packed, forward_options(item, setup));
  times.tokens += item.packed.n_tokens();
  const TokenBatch tokens = tokens_of(item, scores, reference_log_probs, loss());
  std::vector<float> d_log_probs(scores.log_probs.size());
  std::vector<float> d_entropies(loss().entropy_coef != 0 ? scores.entropies.size() : 0);
  const TokenGradients gradients{d_log_probs, d_entropies};
  if (loss().type == LossType::policy_loss) {
    policy_loss(tokens, loss(), sums, gradients);
    count_nuclei(tokens, item.packed.nuclei, sums);
  } else {
    supervised_loss(tokens, sums, gradients);
  }
  std::vector<float> d_balance_losses(scores.balance_losses.size());
  if (!d_balance_losses.empty()) {
    balance_loss(tokens, scores.balance_losses, loss(), sums, d_balance_losses);
  }
  if (item.part == Part::observed) return;
  transformer.backward(d_log_probs, d_entropies, d_balance_losses);
  times.backward_tokens += item.packed.n_tokens();
}

base::Scalars Trainer::Impl::change_weights(LossSums& sums) {
  trainers.all_reduce(store.gradients(), parallel::Op::sum);
  trainers.all_reduce(sums.values(), parallel::Op::sum);
  const double norm = global_norm(store.gradients());
  base::Scalars scalars = loss_metrics(sums, loss());
  scalars["train/grad_norm"] = norm;
  scalars["train/lr-pg_0"] = updater.lr();
  // The same bits everywhere, but a rank that went another way here would hang the others.
  if (trainers.agree(std::isfinite(norm))) {
    updater.update(norm);
  } else {
    ++skipped_steps;
    if (trainers.rank() == 0) {
      base::log_warning("the gradient is not finite: optimiser step skipped, " +
                        std::to_string(skipped_steps) + " so far");
    }
  }
  scalars["train/skipped_steps"] = static_cast<double>(skipped_steps);
  return scalars;
}

}  // namespace physarum::training
