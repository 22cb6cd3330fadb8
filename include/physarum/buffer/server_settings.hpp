#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "physarum/base/deadline.hpp"
#include "physarum/base/ids.hpp"
#include "physarum/base/metrics.hpp"

#include "physarum/storage/file_system.hpp"

#include "physarum/sample/batch.hpp"
#include "physarum/sample/lease.hpp"
#include "physarum/sample/prompt.hpp"
#include "physarum/sample/sample_file.hpp"

#include "physarum/buffer/options.hpp"

namespace physarum::buffer {

using base::WeightVersion;
using base::WorldRank;

/// A set of tasks that is answered now and then to measure the model: metric eval/<name>.
struct EvaluationSet {
  std::string name;
  const sample::PromptSource* prompts = nullptr;  ///< outlives the server
  std::int64_t n_prompts = 0;                     ///< the first so many; 0: all
  std::int64_t n_samples = 1;
  sample::SamplingOptions sampling;
};

/// World ranks by role. The first buffer rank is the head, the first trainer rank the one that
/// reports. Without trainers the head takes every batch itself (rollout-only, evaluation-only).
struct Peers {
  std::vector<WorldRank> buffers;
  std::vector<WorldRank> trainers;
  std::vector<WorldRank> engines;  ///< one per engine: the rank that leads it
  int dp_size = 1;                 ///< data-parallel ranks of the trainer

  [[nodiscard]] WorldRank head() const { return buffers.front(); }
};

/// Where taken batches and evaluations are written: directory/samples_<step>.h5, eval_<version>.h5.
struct ArchiveSettings {
  std::filesystem::path directory;  ///< empty: nothing is written
  std::string program_version;
  std::string configuration;  ///< the resolved one, TOML
  storage::FileSystem* files = &storage::real_file_system();
};

struct BufferState;

/// What a buffer rank is told when it starts. The same on all buffer ranks, except that prompts and
/// evaluation sets are used by the head alone.
struct ServerSettings {
  BufferOptions options;  ///< validated
  Peers peers;
  std::int64_t seed = 0;
  std::int64_t first_step = 0;                       ///< resumed runs start later
  std::int64_t num_rollout = 0;                      ///< steps first_step, ..., num_rollout - 1
  sample::Purpose purpose = sample::Purpose::train;  ///< or supervised
  sample::SamplingOptions sampling;
  const sample::PromptSource* prompts = nullptr;  ///< outlives the server; needed for any step
  std::vector<EvaluationSet> evaluations;
  /// Without trainers: the version that engines have. With: nothing, the trainer reports it.
  std::optional<WeightVersion> initial_version;
  ArchiveSettings archive;
  /// A run that goes on: what a checkpoint held, the same on all buffer ranks; its step is
  /// `first_step`. Null: a new run.
  std::shared_ptr<const BufferState> resumed;
  /// A file whose appearance asks for a checkpoint; the head looks for it, and removes it when the
  /// trainers know. Empty: none.
  std::filesystem::path save_trigger;
  std::function<double()> clock_s = base::uptime_s;
  /// A turn counts at most so much for deadlines: what the server slept through (a colocated
  /// training step) is not held against its clients.
  double longest_turn_s = 1.0;
};

/// What the head tells the program, on its own rank, from inside advance(). All optional.
struct ServerReports {
  /// A batch was handed out: rollout/* and perf/* metrics under slime's names; without trainers
  /// rollout/pass@k, too.
  std::function<void(std::int64_t step, const base::Scalars&)> batch_taken;
  /// An evaluation ended: eval/<name>, .... `version`: of the weights that answered; evaluations
  /// after rollout step s have version s + 1.
  std::function<void(WeightVersion version, const base::Scalars&)> evaluation_done;
  /// What trainer rank 0 reported of a step.
  std::function<void(std::int64_t step, const base::Scalars&)> step_reported;
  /// A line for the user, from the first trainer.
  std::function<void(bool warning, const std::string& text)> notice;
  /// What must be kept in a checkpoint of whoever gets these reports.
  std::function<std::string()> save_state;
  /// All answers to a prompt have come, for training or evaluation.
  std::function<void(std::span<const sample::SampleSummary>)> group_answered;
  /// A file of samples or of an evaluation is complete.
  std::function<void(const std::filesystem::path& file)> file_written;
};

/// How often what should be rare has happened; the head's and, for stores, this rank's.
struct ServerCounters {
  std::int64_t expired_leases = 0;
  std::int64_t returned_leases = 0;  ///< of engines that died
  std::int64_t repeated_groups = 0;  ///< delivered twice or too late, ignored
  std::int64_t aborted_groups = 0;
  std::int64_t stale_groups = 0;  ///< too old when taken: generated again
  std::int64_t malformed_messages = 0;
  // With over-sampling.
  std::int64_t recalled_groups = 0;   ///< came back unfinished, because a step was full
  std::int64_t resumed_groups = 0;    ///< lent with tokens of an earlier lease
  std::int64_t discarded_groups = 0;  ///< given up, because a step was full
  std::int64_t filtered_groups = 0;   ///< dropped by the dynamic filter
  std::int64_t reused_tokens = 0;     ///< of earlier leases, in resumed groups
};

}  // namespace physarum::buffer
