#include "physarum/buffer/options.hpp"

#include <algorithm>
#include <string>

#include "physarum/base/error.hpp"

namespace physarum::buffer {

namespace {

/// Limits that keep every id below 2^60 (sample ids are groups times samples).
constexpr std::int64_t most_steps = std::int64_t{1} << 24;
constexpr std::int64_t most_groups = std::int64_t{1} << 20;
constexpr std::int64_t most_samples = std::int64_t{1} << 16;
constexpr std::int64_t most_tokens = std::int64_t{1} << 40;

std::string text(std::int64_t value) { return std::to_string(value); }

void check_batch_equation(const BufferOptions& options) {
  const std::int64_t rollout = options.samples_per_rollout();
  const std::string equation = "rollout_batch_size x n_samples_per_prompt = " + text(rollout);
  if (options.global_batch_size && options.num_steps_per_rollout) {
    // By division: the product of two large values may not fit.
    if (rollout % *options.global_batch_size == 0 &&
        rollout / *options.global_batch_size == *options.num_steps_per_rollout)
      return;
    throw base::UserError(equation + " is not global_batch_size x num_steps_per_rollout",
                          "--global-batch-size",
                          "change one of the four, or give only one of the last two");
  }
  if (options.global_batch_size && rollout % *options.global_batch_size != 0) {
    throw base::UserError(equation + " is no multiple of global_batch_size", "--global-batch-size",
                          "choose a divisor of " + text(rollout));
  }
  if (options.num_steps_per_rollout && rollout % *options.num_steps_per_rollout != 0) {
    throw base::UserError(equation + " is no multiple of num_steps_per_rollout",
                          "--num-steps-per-rollout", "choose a divisor of " + text(rollout));
  }
}

void check_packing(const BufferOptions& options) {
  if (options.use_dynamic_batch_size == options.max_tokens_per_gpu.has_value()) return;
  throw base::UserError(options.use_dynamic_batch_size
                            ? "a dynamic batch size needs a limit of tokens"
                            : "a limit of tokens has an effect only with a dynamic batch size",
                        "--max-tokens-per-gpu",
                        "give both --use-dynamic-batch-size and --max-tokens-per-gpu, or none");
}

void check_staleness(const BufferOptions& options) {
  if (!options.max_weight_staleness) return;
  const std::int64_t most = options.mode == Mode::async            ? most_steps
                            : options.mode == Mode::one_step_async ? 1
                                                                   : 0;
  if (*options.max_weight_staleness <= most) return;
  throw base::UserError("this mode allows a weight staleness of at most " + text(most),
                        "--max-weight-staleness", "use --mode async or a smaller value");
}

void check_partial_rollout(const BufferOptions& options) {
  const bool limits = options.partial_rollout_max_age || options.partial_rollout_max_resumes;
  if (!options.partial_rollout) {
    if (!limits && !options.mask_offpolicy_in_partial_rollout) return;
    throw base::UserError(
        "masks and limits of unfinished samples have an effect only if they are kept",
        limits ? "--partial-rollout-max-age, --partial-rollout-max-resumes"
               : "--mask-offpolicy-in-partial-rollout",
        "give --partial-rollout too, or leave it out");
  }
  const bool surplus = options.groups_per_draw() > options.rollout_batch_size ||
                       options.dynamic_sampling_filter != DynamicFilter::none;
  if (surplus) return;
  throw base::UserError("no step draws more groups than it takes, so none is ever left unfinished",
                        "--partial-rollout",
                        "give --over-sampling-batch-size " + text(2 * options.rollout_batch_size));
}

void check_over_sampling(const BufferOptions& options) {
  if (options.groups_per_draw() < options.rollout_batch_size) {
    throw base::UserError("a draw of " + text(options.groups_per_draw()) +
                              " groups is smaller than a rollout batch of " +
                              text(options.rollout_batch_size),
                          "--over-sampling-batch-size",
                          "give at least --rollout-batch-size; twice as many are usual");
  }
  if (options.over_samples() && options.mode != Mode::sync && options.mode != Mode::colocate) {
    throw base::UserError("only synchronous steps over-sample, keep unfinished samples or filter",
                          "--mode",
                          "use --mode sync; --mode async goes on with unfinished samples anyway");
  }
  if (options.dynamic_sampling_filter != DynamicFilter::none && options.n_samples_per_prompt < 2) {
    throw base::UserError("the reward of a single sample never differs from its group's",
                          "--dynamic-sampling-filter",
                          "give --n-samples-per-prompt 2 or more, or leave the filter out");
  }
  check_partial_rollout(options);
}

}  // namespace

void BufferOptions::validate() const {
  if (!num_rollout && !num_epoch) {
    throw base::UserError("the length of the run is not given", "--num-rollout",
                          "give --num-rollout or --num-epoch");
  }
  check_batch_equation(*this);
  check_packing(*this);
  check_staleness(*this);
  check_over_sampling(*this);
}

void BufferOptions::validate_for(int dp_size) const {
  if (samples_per_step() >= dp_size) return;
  throw base::UserError("an optimiser step has " + text(samples_per_step()) + " samples for " +
                            std::to_string(dp_size) + " data-parallel ranks",
                        "--global-batch-size", "use fewer trainer ranks or a larger batch");
}

std::int64_t BufferOptions::staleness() const {
  switch (mode) {
    case Mode::one_step_async:
    case Mode::async:
      return max_weight_staleness.value_or(1);
    case Mode::sync:
    case Mode::colocate:
      break;
  }
  return 0;
}

std::int64_t BufferOptions::steps_per_rollout() const {
  if (num_steps_per_rollout) return *num_steps_per_rollout;
  return global_batch_size ? samples_per_rollout() / *global_batch_size : 1;
}

std::int64_t BufferOptions::samples_per_step() const {
  return samples_per_rollout() / steps_per_rollout();
}

std::int64_t BufferOptions::rollout_steps(std::int64_t prompts) const {
  if (num_rollout) return *num_rollout;
  const double steps = static_cast<double>(num_epoch.value_or(0)) * static_cast<double>(prompts) /
                       static_cast<double>(rollout_batch_size);
  if (steps > static_cast<double>(most_steps)) {
    throw base::UserError("so many epochs make more than " + text(most_steps) + " steps",
                          "--num-epoch", "give --num-rollout instead");
  }
  return num_epoch.value_or(0) * prompts / rollout_batch_size;
}

sample::MicroBatchRule BufferOptions::micro_batch_rule() const {
  return {use_dynamic_batch_size ? sample::Packing::by_tokens : sample::Packing::by_count,
          micro_batch_size, max_tokens_per_gpu.value_or(0)};
}

std::int64_t BufferOptions::capacity_groups() const {
  const double groups = async_data_buffer_capacity_factor * static_cast<double>(rollout_batch_size);
  // The last draw of a step comes when all but one of the groups that it needs are good.
  const std::int64_t drawn = over_samples() ? rollout_batch_size + groups_per_draw() : 0;
  return std::max({rollout_batch_size, static_cast<std::int64_t>(groups), drawn});
}

namespace {

void declare_rollout(base::OptionTable& table, BufferOptions& options) {
  table.topic("rollout");
  table.add_choice("mode", options.mode, "How far generation may run ahead of training",
                   {"sync", "one_step_async", "async", "colocate"});
  table.add("max-weight-staleness", options.max_weight_staleness,
            "Versions by which a sample may be older than the weights that learn from it (async)",
            {0, most_steps});
  table.add("num-rollout", options.num_rollout, "Rollout steps of the run", {0, most_steps});
  table.add("num-epoch", options.num_epoch, "Passes over the prompts, if num-rollout is not given",
            {1, most_steps});
  table.add("rollout-batch-size", options.rollout_batch_size, "Prompts (groups) per rollout step",
            {1, most_groups});
  table.add("n-samples-per-prompt", options.n_samples_per_prompt, "Samples per prompt",
            {1, most_samples});
  table.add_switch("rollout-shuffle", options.rollout_shuffle,
                   "Draw the prompts of every epoch in another random order");
}

void declare_over_sampling(base::OptionTable& table, BufferOptions& options) {
  table.add("over-sampling-batch-size", options.over_sampling_batch_size,
            "Prompts drawn at a time; a step takes the first rollout-batch-size groups that are "
            "finished and gives up the others",
            {1, most_groups});
  table.add_switch("partial-rollout", options.partial_rollout,
                   "Keep unfinished samples when a step is full; the next step goes on with them");
  table.add_switch("mask-offpolicy-in-partial-rollout", options.mask_offpolicy_in_partial_rollout,
                   "Do not learn from tokens that older weights made");
  table.add("partial-rollout-max-age", options.partial_rollout_max_age,
            "Steps by which a token may be older than the step that learns from it (4)",
            {1, most_steps});
  table.add("partial-rollout-max-resumes", options.partial_rollout_max_resumes,
            "How often a group is taken up again before its step waits for it (4)",
            {1, most_steps});
  table.add_choice("dynamic-sampling-filter", options.dynamic_sampling_filter,
                   "Which finished groups are dropped and replaced by others",
                   {"none", "check_reward_nonzero_std", "check_reward_nonzero_std_with_fallback"});
}

void declare_batch(base::OptionTable& table, BufferOptions& options) {
  table.topic("batch");
  table.add("global-batch-size", options.global_batch_size, "Samples per optimiser step",
            {1, most_groups * most_samples});
  table.add("num-steps-per-rollout", options.num_steps_per_rollout,
            "Optimiser steps per rollout step", {1, most_groups * most_samples});
  table.add("micro-batch-size", options.micro_batch_size,
            "Samples per micro-batch without dynamic batch size", {1, most_groups * most_samples});
  table.add_switch("use-dynamic-batch-size", options.use_dynamic_batch_size,
                   "Fill micro-batches by tokens instead of by samples");
  table.add("max-tokens-per-gpu", options.max_tokens_per_gpu,
            "Tokens per micro-batch with dynamic batch size; a longer sample gets its own",
            {1, most_tokens});
}

void declare_evaluation(base::OptionTable& table, BufferOptions& options) {
  table.topic("evaluation");
  table.add("eval-interval", options.eval_interval, "Rollout steps between evaluations",
            {1, most_steps});
  table.add("n-samples-per-eval-prompt", options.n_samples_per_eval_prompt,
            "Samples per prompt of an evaluation", {1, most_samples});
  table.add_switch("skip-eval-before-train", options.skip_eval_before_train,
                   "Do not evaluate the initial model");
}

void declare_buffer(base::OptionTable& table, BufferOptions& options) {
  table.topic("buffer");
  table.add("async-data-buffer-capacity-factor", options.async_data_buffer_capacity_factor,
            "Groups that may be stored or lent at a time, in rollout batches", {1.0, 1e6});
  table.add("lease-deadline", options.lease_deadline_s,
            "Seconds after which a lent group may be lent to another engine", {0.001, 1e7});
  table.add("distributed-timeout-minutes", options.distributed_timeout_minutes,
            "How long a rank may be silent before the run ends with an error", {0.001, 1e5});
  table.add_switch("save-samples", options.save_samples,
                   "Write every batch and evaluation to the run's samples folder");
}

}  // namespace

void declare_options(base::OptionTable& table, BufferOptions& options) {
  declare_rollout(table, options);
  declare_over_sampling(table, options);
  declare_batch(table, options);
  declare_evaluation(table, options);
  declare_buffer(table, options);
}

}  // namespace physarum::buffer
