#include "reporter.hpp"

#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "physarum/base/error.hpp"
#include "physarum/base/logging.hpp"

namespace physarum::app {

namespace {

std::string note_of(const base::Scalars& scalars) {
  std::string note;
  for (const auto& [name, label] :
       {std::pair{"rollout/raw_reward", "reward"}, {"train/loss", "loss"}}) {
    const auto found = scalars.find(name);
    if (found == scalars.end()) continue;
    char text[64];
    std::snprintf(text, sizeof text, "%s%s %.3f", note.empty() ? "" : "  ", label, found->second);
    note += text;
  }
  return note;
}

/// "eval/NAME" of each set.
std::vector<std::string> evaluations_in(const base::Scalars& scalars) {
  std::vector<std::string> names;
  for (const auto& [name, value] : scalars)
    if (scalars.contains(name + "-truncated_ratio")) names.push_back(name);
  return names;
}

/// JSON has no infinities; a metric that has none is no figure of the summary either.
base::Scalars finite(const base::Scalars& scalars) {
  base::Scalars kept;
  for (const auto& [name, value] : scalars)
    if (std::isfinite(value)) kept[name] = value;
  return kept;
}

}  // namespace

struct RunReporter::State {
  std::uint64_t metrics_bytes = 0;
  base::Scalars last;
  base::Scalars first_evaluation;

  [[nodiscard]] static State parse(const std::string& text) {
    try {
      const auto json = nlohmann::json::parse(text);
      return {json.at("metrics_bytes").get<std::uint64_t>(), json.at("last").get<base::Scalars>(),
              json.at("first_evaluation").get<base::Scalars>()};
    } catch (const nlohmann::json::exception& error) {
      throw base::UserError(std::string("the state of the metrics cannot be read: ") + error.what(),
                            "buffer/report of the checkpoint", "load another checkpoint");
    }
  }
};

RunReporter::RunReporter(const std::filesystem::path& directory, std::string label, Course course)
    : writer_(directory),
      line_(std::move(label), course.prompts > 0 ? course.prompts : course.steps),
      steps_(course.steps) {
  if (course.prompts > 0) answers_.emplace();
}

RunReporter::RunReporter(const std::filesystem::path& directory, std::string label,
                         std::int64_t steps, std::int64_t step, const std::string& state)
    : RunReporter(directory, std::move(label), steps, step, State::parse(state)) {}

RunReporter::RunReporter(const std::filesystem::path& directory, std::string label,
                         std::int64_t steps, std::int64_t step, const State& state)
    : writer_(directory, state.metrics_bytes, step),
      line_(std::move(label), steps),
      steps_(steps),
      steps_done_(step),
      first_evaluation_(state.first_evaluation) {
  writer_.set_last(state.last);
}

std::string RunReporter::save_state() {
  const nlohmann::json json = {{"metrics_bytes", writer_.synced_bytes()},
                               {"last", finite(writer_.last())},
                               {"first_evaluation", finite(first_evaluation_)}};
  return json.dump();
}

void RunReporter::notice(bool warning, const std::string& text) {
  line_.clear();
  base::log(warning ? base::Severity::warning : base::Severity::info, text);
}

buffer::ServerReports RunReporter::reports() {
  return {.batch_taken = [this](std::int64_t step,
                                const base::Scalars& scalars) { batch_taken(step, scalars); },
          .evaluation_done =
              [this](base::WeightVersion version, const base::Scalars& scalars) {
                evaluation_done(version, scalars);
              },
          .step_reported = [this](std::int64_t step,
                                  const base::Scalars& scalars) { step_reported(step, scalars); },
          .notice = [this](bool warning, const std::string& text) { notice(warning, text); },
          .save_state = [this] { return save_state(); },
          .group_answered =
              [this](std::span<const sample::SampleSummary> samples) { group_answered(samples); },
          .file_written =
              [this](const std::filesystem::path& file) {
                if (file_written_) file_written_(file);
              }};
}

void RunReporter::group_answered(std::span<const sample::SampleSummary> samples) {
  if (!answers_) return;
  answers_->add(samples);
  line_.update(answers_->prompts(), answers_->note());
}

void RunReporter::batch_taken(std::int64_t step, const base::Scalars& scalars) {
  if (answers_) {
    writer_.write(step, scalars);
    answers_->add_batch(scalars);
    return;
  }
  open_steps_[step].insert(scalars.begin(), scalars.end());
}

void RunReporter::step_reported(std::int64_t step, const base::Scalars& scalars) {
  base::Scalars all = std::exchange(open_steps_[step], {});
  open_steps_.erase(step);
  all.insert(scalars.begin(), scalars.end());
  writer_.write(step, all);
  steps_done_ = step + 1;
  line_.update(steps_done_, note_of(all));
}

void RunReporter::evaluation_done(base::WeightVersion version, const base::Scalars& scalars) {
  writer_.write(version.value(), scalars);
  if (first_evaluation_.empty()) first_evaluation_ = scalars;
  line_.clear();
  std::string text = "evaluation: ";
  if (steps_ > 0 && !answers_) {
    text = "after step " + std::to_string(version.value()) + " of " + std::to_string(steps_) + ": ";
  }
  for (const auto& name : evaluations_in(scalars))
    base::log_info(text + pass_text(name, name + "-pass@", scalars));
}

void RunReporter::fill(Summary& summary) const {
  summary.set_all(writer_.last());
  for (const auto& [name, value] : first_evaluation_) summary.set("first/" + name, value);
  if (answers_) answers_->fill(summary);
}

}  // namespace physarum::app
