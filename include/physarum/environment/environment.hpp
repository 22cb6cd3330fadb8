#pragma once

#include <memory>
#include <string_view>

#include "physarum/sample/prompt.hpp"
#include "physarum/sample/sample.hpp"

namespace physarum::environment {

/// What a verifier says of one response.
struct Verdict {
  double reward = 0;
  sample::Evidence evidence;
};

/// Problems for learning and problems for judging; no problem is in both.
enum class Split { train, held_out };

/// What is asked and how it is judged. Immutable; any thread. Pure: prompts depend on the seed and
/// the index alone, rewards on the prompt and the response alone.
class Environment {
 public:
  Environment() = default;
  virtual ~Environment() = default;
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  Environment(Environment&&) = delete;
  Environment& operator=(Environment&&) = delete;

  /// Stands in the prompts that this environment judges.
  [[nodiscard]] virtual std::string_view name() const = 0;

  /// Judges the text of a response without its stop token. Any bytes are allowed; does not throw
  /// for a bad response, and does not wait.
  [[nodiscard]] virtual Verdict verify(const sample::Prompt& prompt,
                                       std::string_view response) const = 0;

  /// The prompts that this environment makes; null if its prompts come from files. The source must
  /// not outlive the environment.
  [[nodiscard]] virtual std::unique_ptr<sample::PromptSource> prompts(Split split) const;
};

}  // namespace physarum::environment
