#pragma once

#include <functional>
#include <memory>

#include "physarum/base/ids.hpp"

namespace physarum::weights {

/// A buffer rank's part of the weight store: memory into which trainers put and from which engines
/// read. This rank's work is to fold deltas into the full image, so that trainers need not put it
/// again, and to serve engines if their carrier needs that. Made by WeightExchange. One thread.
class WeightStore {
 public:
  class Impl;
  /// `serve` does a turn for the engines where they need one; true if it did something.
  explicit WeightStore(std::unique_ptr<Impl> impl, std::function<bool()> serve = {});
  WeightStore(WeightStore&&) noexcept;
  WeightStore& operator=(WeightStore&&) noexcept;
  ~WeightStore();

  /// One short turn of the event loop: folds some megabytes of a delta that has arrived, and serves
  /// engines. True if it did something. A store that is not advanced falls behind, and trainers
  /// then publish in full. Also the place where this rank enters MPI, which one-sided access may
  /// need for its progress.
  bool advance();

  /// Newest version that this rank knows to be complete; not valid() before the first.
  [[nodiscard]] base::WeightVersion newest() const;
  /// Version of this rank's part of the full image.
  [[nodiscard]] base::WeightVersion folded() const;

 private:
  std::unique_ptr<Impl> impl_;
  std::function<bool()> serve_;
};

}  // namespace physarum::weights
