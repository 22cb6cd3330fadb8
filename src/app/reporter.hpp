#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "physarum/base/metrics.hpp"

#include "physarum/buffer/server_settings.hpp"

#include "answer_tally.hpp"
#include "progress.hpp"
#include "summary.hpp"

namespace physarum::app {

/// What the progress line counts.
struct Course {
  std::int64_t steps = 0;
  /// Without trainers: prompts to be answered, of rollouts and evaluations. The line counts them,
  /// and a batch is reported when it is taken.
  std::int64_t prompts = 0;
};

/// What the head's rank shows of a run: metrics files, the progress line, a log line for each
/// evaluation, and the last values for the summary.
class RunReporter {
 public:
  /// Throws UserError if the directory cannot be written.
  RunReporter(const std::filesystem::path& directory, std::string label, Course course);
  /// Goes on after `step` finished steps with what save_state() gave then; throws UserError if that
  /// cannot be read.
  RunReporter(const std::filesystem::path& directory, std::string label, std::int64_t steps,
              std::int64_t step, const std::string& state);

  /// Called with each file of samples when it is complete.
  void on_file(std::function<void(const std::filesystem::path&)> call) {
    file_written_ = std::move(call);
  }
  /// Callbacks for the buffer server; they hold on to this object.
  [[nodiscard]] buffer::ServerReports reports();

  /// Last value of every metric, first and last value of every evaluation.
  void fill(Summary& summary) const;
  [[nodiscard]] std::int64_t steps_done() const { return steps_done_; }
  void clear_line() { line_.clear(); }
  /// Of a run without trainers.
  [[nodiscard]] std::int64_t failed_samples() const { return answers_ ? answers_->failed() : 0; }
  /// What the rollouts have come to, a line for the user; empty if trainers took them.
  [[nodiscard]] std::string rollout_text() const { return answers_ ? answers_->text() : ""; }
  /// JSON: where metrics.jsonl stands, and the figures that the summary needs.
  [[nodiscard]] std::string save_state();

 private:
  struct State;
  RunReporter(const std::filesystem::path& directory, std::string label, std::int64_t steps,
              std::int64_t step, const State& state);
  void notice(bool warning, const std::string& text);
  void group_answered(std::span<const sample::SampleSummary> samples);
  void batch_taken(std::int64_t step, const base::Scalars& scalars);
  void step_reported(std::int64_t step, const base::Scalars& scalars);
  void evaluation_done(base::WeightVersion version, const base::Scalars& scalars);
  base::MetricsWriter writer_;
  ProgressLine line_;
  std::int64_t steps_;
  std::int64_t steps_done_ = 0;
  std::optional<AnswerTally> answers_;  ///< without trainers
  std::function<void(const std::filesystem::path&)> file_written_;
  /// What is known of steps that have been taken and not reported yet: one record a step.
  std::map<std::int64_t, base::Scalars> open_steps_;
  base::Scalars first_evaluation_;
};

}  // namespace physarum::app
