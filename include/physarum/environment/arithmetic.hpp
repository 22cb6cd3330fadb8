#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "physarum/environment/environment.hpp"

namespace physarum::environment {

/// How a problem is put and its answer is judged.
enum class ArithmeticStyle {
  fixed,  ///< `37+85=`, answer `122`: zero-filled, and exactly that
  words,  ///< `What is 37 plus 85?`, answer `122`: the last number in the response counts
};

class ProblemPart;

/// Sums, differences and products of two numbers, made by index. A level is an operator and a
/// number of digits (`add2`), or `mixed`. Each part of a level keeps `held_out` of its problems out
/// of training (at most half of them), chosen by a hash that depends on the part alone: the same
/// ones for every seed, rank count and level that holds the part.
class ArithmeticEnvironment final : public Environment {
 public:
  struct Settings {
    std::string level = "add2";
    std::int64_t held_out = 500;
    ArithmeticStyle style = ArithmeticStyle::fixed;
    std::uint64_t seed = 0;  ///< of the order of training problems
  };
  /// One problem of one part of the level.
  struct Choice {
    std::size_t part;
    std::uint64_t problem;
  };
  /// Throws UserError if there is no such level.
  explicit ArithmeticEnvironment(Settings settings);
  ~ArithmeticEnvironment() override;

  [[nodiscard]] std::string_view name() const override { return "arithmetic"; }
  [[nodiscard]] Verdict verify(const sample::Prompt& prompt,
                               std::string_view response) const override;
  [[nodiscard]] std::unique_ptr<sample::PromptSource> prompts(Split split) const override;

  /// Training problem `index` >= 0; never a held-out one. Indices do not run out, problems repeat.
  [[nodiscard]] sample::Prompt make(std::int64_t index) const;
  /// Held-out problem `index`, 0 <= index < held_out_count(); each problem once, always this order.
  [[nodiscard]] sample::Prompt held_out(std::int64_t index) const;
  [[nodiscard]] std::int64_t held_out_count() const;

 private:
  [[nodiscard]] sample::Prompt prompt_of(Choice choice, std::int64_t index) const;
  Settings settings_;
  std::vector<ProblemPart> parts_;
  std::vector<Choice> held_out_;
};

/// Throws UserError if there is no such level.
void check_arithmetic_level(std::string_view level);
/// Levels that can be named, for help and messages.
[[nodiscard]] std::string arithmetic_levels();

/// The prompts of an arithmetic environment, which must outlive the source.
class ArithmeticSource final : public sample::PromptSource {
 public:
  ArithmeticSource(const ArithmeticEnvironment& environment, Split split)
      : environment_(environment), split_(split) {}
  /// Held-out problems: their number. Training: 2^40, more than any run draws.
  [[nodiscard]] std::int64_t size() const override;
  [[nodiscard]] sample::Prompt at(std::int64_t index) const override;

 private:
  const ArithmeticEnvironment& environment_;
  Split split_;
};

}  // namespace physarum::environment
