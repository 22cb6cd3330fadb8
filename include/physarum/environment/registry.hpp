#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "physarum/environment/environment.hpp"
#include "physarum/environment/options.hpp"

namespace physarum::environment {

/// The environments of a run by name. Immutable once built; any thread.
class EnvironmentRegistry {
 public:
  /// `fallback`: the name that prompts without one mean.
  explicit EnvironmentRegistry(std::string fallback) : fallback_(std::move(fallback)) {}

  /// A second environment of one name is a contract violation.
  void add(std::unique_ptr<Environment> environment);
  /// Throws UserError that names the nearest one if there is none.
  [[nodiscard]] const Environment& find(std::string_view name) const;
  [[nodiscard]] const Environment& fallback() const { return find(fallback_); }

  /// Judges by the environment that the prompt names. Throws UserError if there is none: check
  /// prompts with find() when they are read.
  [[nodiscard]] Verdict verify(const sample::Prompt& prompt, std::string_view response) const;
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  std::string fallback_;
  std::vector<std::unique_ptr<Environment>> environments_;
};

/// All environments of this program: `arithmetic` as the options say, `exact_match`, `last_number`.
/// `seed` orders the training problems. Throws UserError for bad options.
[[nodiscard]] EnvironmentRegistry make_environments(const EnvironmentOptions& options,
                                                    std::uint64_t seed);

}  // namespace physarum::environment
