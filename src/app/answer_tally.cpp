#include "answer_tally.hpp"

#include <algorithm>
#include <cstdio>

namespace physarum::app {

namespace {

constexpr const char* mean_reward = "rollout/raw_reward";
constexpr const char* pass_prefix = "rollout/pass@";

bool is_averaged(const std::string& name) {
  return name == mean_reward || name == "rollout/truncated_ratio" || name.starts_with(pass_prefix);
}

std::string figure(const std::string& name, double value) {
  char text[32];
  std::snprintf(text, sizeof text, " %.4f", value);
  return name + text;
}

}  // namespace

void AnswerTally::add(std::span<const sample::SampleSummary> group) {
  ++prompts_;
  for (const auto& sample : group) {
    ++answers_;
    response_tokens_ += sample.response_tokens;
    rewards_ += sample.reward;
    if (sample.status == sample::SampleStatus::failed) ++failed_;
  }
}

void AnswerTally::add_batch(const base::Scalars& metrics) {
  ++batches_;
  for (const auto& [name, value] : metrics)
    if (is_averaged(name)) sums_[name] += value;
}

base::Scalars AnswerTally::means() const {
  base::Scalars means = sums_;
  for (auto& [name, value] : means) value /= static_cast<double>(batches_);
  return means;
}

std::string AnswerTally::note() const {
  const double seconds = started_.seconds();
  const double answers = static_cast<double>(std::max<std::int64_t>(answers_, 1));
  char text[96];
  std::snprintf(text, sizeof text, "reward %.3f  %.0f tokens/s", rewards_ / answers,
                seconds > 0 ? static_cast<double>(response_tokens_) / seconds : 0);
  return text;
}

std::string AnswerTally::text() const {
  return batches_ == 0 ? "" : pass_text(mean_reward, pass_prefix, means());
}

void AnswerTally::fill(Summary& summary) const {
  summary.set("prompts", prompts_);
  summary.set("answers", answers_);
  summary.set("failed_samples", failed_);
  summary.set_all(means());
}

std::string pass_text(const std::string& mean, const std::string& prefix,
                      const base::Scalars& metrics) {
  std::string text = figure(mean, metrics.at(mean));
  for (std::int64_t k = 1;; k *= 2) {
    const auto rate = metrics.find(prefix + std::to_string(k));
    if (rate == metrics.end()) return text;
    text += ", " + figure("pass@" + std::to_string(k), rate->second);
  }
}

}  // namespace physarum::app
