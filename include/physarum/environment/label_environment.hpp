#pragma once

#include <string_view>

#include "physarum/environment/environment.hpp"

namespace physarum::environment {

/// How a response is compared with the label.
enum class LabelRule {
  exact_match,  ///< equal, but for white space around them
  last_number,  ///< the last number in the response equals the label as a number
};

/// Judges prompts that come from files with labels. Its name is its rule: `exact_match` or
/// `last_number`. Reward 1 or 0. A prompt whose label cannot match (empty, or no number where one
/// is needed) always gives 0; its evidence says so.
class LabelEnvironment final : public Environment {
 public:
  explicit LabelEnvironment(LabelRule rule) : rule_(rule) {}
  [[nodiscard]] std::string_view name() const override;
  [[nodiscard]] Verdict verify(const sample::Prompt& prompt,
                               std::string_view response) const override;

 private:
  LabelRule rule_;
};

}  // namespace physarum::environment
