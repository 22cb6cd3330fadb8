#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "physarum/base/deadline.hpp"
#include "physarum/base/metrics.hpp"

#include "physarum/sample/batch.hpp"

#include "summary.hpp"

namespace physarum::app {

/// How far a run without trainers is, and what it has come to: counts answers as they come and
/// averages what the batches say.
class AnswerTally {
 public:
  /// All answers to a prompt.
  void add(std::span<const sample::SampleSummary> group);
  /// Metrics of a batch; all batches have the same size.
  void add_batch(const base::Scalars& metrics);

  [[nodiscard]] std::int64_t prompts() const { return prompts_; }
  [[nodiscard]] std::int64_t failed() const { return failed_; }
  /// "reward 0.500  210 tokens/s", for the progress line; the rate is that since the beginning.
  [[nodiscard]] std::string note() const;
  /// "rollout/raw_reward 0.5000, pass@1 0.5000, ...", of all batches; empty without any.
  [[nodiscard]] std::string text() const;
  /// Counts, and over all batches the mean reward, the share of truncated answers and pass rates.
  void fill(Summary& summary) const;

 private:
  [[nodiscard]] base::Scalars means() const;
  std::int64_t prompts_ = 0;
  std::int64_t answers_ = 0;
  std::int64_t failed_ = 0;
  std::int64_t response_tokens_ = 0;
  double rewards_ = 0;
  std::int64_t batches_ = 0;
  base::Scalars sums_;  ///< over batches
  base::Stopwatch started_;
};

/// "MEAN 0.5000, pass@1 0.5000, pass@2 ...": the metric of that name and <prefix><k>.
[[nodiscard]] std::string pass_text(const std::string& mean, const std::string& prefix,
                                    const base::Scalars& metrics);

}  // namespace physarum::app
