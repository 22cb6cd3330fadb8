#pragma once

#include <cstdint>

namespace physarum::buffer {

/// How many groups a step that over-samples works on: slime's rule. Groups are drawn so many at a
/// time, as long as those that were drawn and not rejected are fewer than the step takes.
class DrawCounter {
 public:
  /// `per_draw` >= `target` > 0.
  DrawCounter(std::int64_t target, std::int64_t per_draw)
      : target_(target), per_draw_(per_draw), drawn_(per_draw) {}

  /// The next step makes its first draw.
  void begin_step() {
    drawn_ = per_draw_;
    rejected_ = 0;
  }
  /// A finished group of this step is not taken by any.
  void reject() {
    ++rejected_;
    if (rejection_draws(0)) drawn_ += per_draw_;
  }
  /// Would rejecting a group now force another draw?
  [[nodiscard]] bool next_rejection_draws() const { return rejection_draws(1); }
  /// Groups of this step, lent or not: neither rejected nor taken.
  [[nodiscard]] std::int64_t wanted() const { return drawn_ - rejected_; }
  [[nodiscard]] std::int64_t draws() const { return drawn_ / per_draw_; }
  [[nodiscard]] std::int64_t rejected() const { return rejected_; }

 private:
  [[nodiscard]] bool rejection_draws(std::int64_t more) const {
    return drawn_ - rejected_ - more < target_;
  }
  std::int64_t target_;
  std::int64_t per_draw_;
  std::int64_t drawn_;
  std::int64_t rejected_ = 0;
};

}  // namespace physarum::buffer
