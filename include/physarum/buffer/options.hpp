#pragma once

#include <cstdint>
#include <optional>

#include "physarum/base/options.hpp"

#include "physarum/sample/micro_batches.hpp"

namespace physarum::buffer {

/// How far generation may run ahead of training. `colocate` schedules as `sync`: the same ranks
/// generate and train in turns.
enum class Mode : std::uint8_t { sync, one_step_async, async, colocate };

/// Which finished groups are no good to learn from.
enum class DynamicFilter : std::uint8_t {
  none,
  check_reward_nonzero_std,                ///< groups whose rewards are all alike
  check_reward_nonzero_std_with_fallback,  ///< the same, unless more had to be drawn in their place
};

/// Who works on what, and how a batch is cut. Names and meanings are slime's where it has them.
struct BufferOptions {
  Mode mode = Mode::sync;
  std::int64_t rollout_batch_size = 32;               ///< groups (prompts) per rollout step
  std::int64_t n_samples_per_prompt = 1;              ///< samples per group
  std::optional<std::int64_t> global_batch_size;      ///< samples per optimiser step
  std::optional<std::int64_t> num_steps_per_rollout;  ///< optimiser steps per rollout step
  std::int64_t micro_batch_size = 1;
  bool use_dynamic_batch_size = false;
  std::optional<std::int64_t> max_tokens_per_gpu;  ///< per micro-batch, with dynamic batch size
  bool rollout_shuffle = false;
  std::optional<std::int64_t> over_sampling_batch_size;  ///< groups drawn at a time
  bool partial_rollout = false;                    ///< keep what is unfinished when a step is full
  bool mask_offpolicy_in_partial_rollout = false;  ///< learn from the step's own tokens only
  std::optional<std::int64_t> partial_rollout_max_age;      ///< in steps
  std::optional<std::int64_t> partial_rollout_max_resumes;  ///< of one group
  DynamicFilter dynamic_sampling_filter = DynamicFilter::none;
  std::optional<std::int64_t> num_rollout;  ///< rollout steps of the run; wins over num_epoch
  std::optional<std::int64_t> num_epoch;
  std::optional<std::int64_t> max_weight_staleness;  ///< async: 1 if not given
  std::optional<std::int64_t> eval_interval;         ///< rollout steps between evaluations
  std::int64_t n_samples_per_eval_prompt = 1;
  bool skip_eval_before_train = false;
  double async_data_buffer_capacity_factor = 2.0;  ///< stored and lent groups, in rollout batches
  double lease_deadline_s = 600;
  double distributed_timeout_minutes = 10;  ///< how long a client may be silent
  bool save_samples = true;                 ///< every taken batch goes to samples_<step>.h5

  /// Throws UserError (what, which flag, how to mend).
  void validate() const;
  /// Throws UserError if an optimiser step has fewer samples than data-parallel ranks.
  void validate_for(int dp_size) const;

  /// How long a client may be silent, in seconds.
  [[nodiscard]] double patience_s() const { return distributed_timeout_minutes * 60; }
  /// True if a step takes the groups that are finished and good first, instead of certain ones.
  [[nodiscard]] bool over_samples() const {
    return over_sampling_batch_size || partial_rollout ||
           dynamic_sampling_filter != DynamicFilter::none;
  }
  /// Groups that a step begins to work on at a time, if it over-samples.
  [[nodiscard]] std::int64_t groups_per_draw() const {
    return over_sampling_batch_size.value_or(rollout_batch_size);
  }
  /// With partial_rollout: steps by which a token may be older than the step that learns from it.
  [[nodiscard]] std::int64_t most_age() const { return partial_rollout_max_age.value_or(4); }
  /// With partial_rollout: how often a group is taken up again; then its step waits for it.
  [[nodiscard]] std::int64_t most_resumes() const {
    return partial_rollout_max_resumes.value_or(4);
  }
  /// Versions by which a sample may be older than the weights that learn from it.
  [[nodiscard]] std::int64_t staleness() const;
  /// True if trainers must take the batch of step s + 1 before they publish version s + 1: its
  /// groups need exactly version s, which is gone afterwards. Otherwise they publish first.
  [[nodiscard]] bool takes_before_publishing() const {
    return mode == Mode::one_step_async && staleness() > 0;
  }
  [[nodiscard]] std::int64_t samples_per_rollout() const {
    return rollout_batch_size * n_samples_per_prompt;
  }
  /// The one that was given, or what follows from the batch equation.
  [[nodiscard]] std::int64_t steps_per_rollout() const;
  [[nodiscard]] std::int64_t samples_per_step() const;
  /// num_rollout, or as many as num_epoch passes over `prompts` prompts make.
  [[nodiscard]] std::int64_t rollout_steps(std::int64_t prompts) const;
  [[nodiscard]] sample::MicroBatchRule micro_batch_rule() const;
  /// Groups that may be stored or lent at a time; at least one rollout batch.
  [[nodiscard]] std::int64_t capacity_groups() const;
};

/// Binds the flags, topics "rollout", "batch", "evaluation" and "buffer".
void declare_options(base::OptionTable& table, BufferOptions& options);

}  // namespace physarum::buffer
