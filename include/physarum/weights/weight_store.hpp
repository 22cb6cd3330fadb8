#pragma once

#include <memory>

#include "physarum/base/ids.hpp"

namespace physarum::weights {

/// A buffer rank's part of the weight store: memory in two windows, one with the trainers, one with
/// the engines. Trainers put, engines get; this rank's only work is to fold deltas into the full
/// image, so that trainers need not put it again. Made by WeightExchange. One thread.
class WeightStore {
 public:
  class Impl;
  explicit WeightStore(std::unique_ptr<Impl> impl);
  WeightStore(WeightStore&&) noexcept;
  WeightStore& operator=(WeightStore&&) noexcept;
  ~WeightStore();

  /// One short turn of the event loop: folds some megabytes of a delta that has arrived. True if it
  /// did something. A store that is not advanced falls behind, and trainers then publish in full.
  /// Also the place where this rank enters MPI, which one-sided access may need for its progress.
  bool advance();

  /// Newest version that this rank knows to be complete; not valid() before the first.
  [[nodiscard]] base::WeightVersion newest() const;
  /// Version of this rank's part of the full image.
  [[nodiscard]] base::WeightVersion folded() const;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace physarum::weights
