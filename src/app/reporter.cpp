#include "reporter.hpp"

#include <cstdio>
#include <utility>

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

}  // namespace

RunReporter::RunReporter(const std::filesystem::path& directory, std::string label,
                         std::int64_t steps)
    : writer_(directory), line_(std::move(label), steps), steps_(steps) {}

buffer::ServerReports RunReporter::reports() {
  return {.batch_taken = [this](std::int64_t step,
                                const base::Scalars& scalars) { batch_taken(step, scalars); },
          .evaluation_done =
              [this](base::WeightVersion version, const base::Scalars& scalars) {
                evaluation_done(version, scalars);
              },
          .step_reported = [this](std::int64_t step,
                                  const base::Scalars& scalars) { step_reported(step, scalars); }};
}

void RunReporter::batch_taken(std::int64_t step, const base::Scalars& scalars) {
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
  std::string text = "evaluation:";
  if (steps_ > 0) {
    text = "after step " + std::to_string(version.value()) + " of " + std::to_string(steps_) + ":";
  }
  for (const auto& [name, value] : scalars) {
    if (name.find('/', 5) != std::string::npos || name.find('-') != std::string::npos) continue;
    char figure[128];
    std::snprintf(figure, sizeof figure, " %s %.4f", name.c_str(), value);
    text += figure;
  }
  base::log_info(text);
}

void RunReporter::fill(Summary& summary) const {
  summary.set_all(writer_.last());
  for (const auto& [name, value] : first_evaluation_) summary.set("first/" + name, value);
}

}  // namespace physarum::app
