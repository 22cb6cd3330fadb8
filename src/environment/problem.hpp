#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace physarum::environment {

enum class Operator { add, subtract, multiply };

/// All problems of one operator and one number of digits. A problem is a number: its two operands
/// side by side. Immutable; any thread.
class ProblemPart {
 public:
  /// 1 <= digits <= 9. Keeps `held_out` problems, at most half of all, out of training.
  ProblemPart(Operator op, int digits, std::int64_t held_out);

  /// From a name like `add2`; nothing if it is none.
  struct Kind {
    Operator op;
    int digits;
  };
  [[nodiscard]] static std::optional<Kind> parse(std::string_view name);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::uint64_t count() const { return operands_ * operands_; }
  /// Held-out problems in the order in which they are judged.
  [[nodiscard]] const std::vector<std::uint64_t>& held_out() const { return held_out_; }
  [[nodiscard]] bool is_held_out(std::uint64_t problem) const {
    return held_out_set_.contains(problem);
  }

  /// `07+85=` and `092`; a difference below zero begins with a minus, in the same width.
  [[nodiscard]] std::string fixed_text(std::uint64_t problem) const;
  [[nodiscard]] std::string fixed_answer(std::uint64_t problem) const;
  /// `What is 7 plus 85?` with a line end, and `92`.
  [[nodiscard]] std::string words_text(std::uint64_t problem) const;
  [[nodiscard]] std::string words_answer(std::uint64_t problem) const;

 private:
  void choose_held_out(std::int64_t number);
  [[nodiscard]] std::int64_t left(std::uint64_t problem) const;
  [[nodiscard]] std::int64_t right(std::uint64_t problem) const;
  [[nodiscard]] std::int64_t result(std::uint64_t problem) const;

  Operator op_;
  int digits_;
  std::uint64_t operands_ = 1;  ///< how many values an operand has
  std::string name_;
  std::vector<std::uint64_t> held_out_;
  std::unordered_set<std::uint64_t> held_out_set_;
};

}  // namespace physarum::environment
