#include "physarum/environment/label_environment.hpp"

#include "judge.hpp"

namespace physarum::environment {

// Environments whose prompts come from files make none.
std::unique_ptr<sample::PromptSource> Environment::prompts(Split) const { return nullptr; }

std::string_view LabelEnvironment::name() const {
  return rule_ == LabelRule::exact_match ? "exact_match" : "last_number";
}

Verdict LabelEnvironment::verify(const sample::Prompt& prompt, std::string_view response) const {
  return rule_ == LabelRule::exact_match ? judge_exact_match(prompt.label, response)
                                         : judge_last_number(prompt.label, response);
}

}  // namespace physarum::environment
