#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "physarum/weights/change_log.hpp"

#include "physarum/training/options.hpp"

namespace physarum::training {

enum class Decay { no, yes };

/// Half-open range of elements that are updated, with or without weight decay.
struct UpdateRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  Decay decay = Decay::no;
};

/// AdamW with decoupled weight decay on flat fp32 buffers. Elements outside the ranges (gaps
/// between tensors) stay as they are. Element by element, so the bits do not depend on anything
/// but the inputs.
class AdamW {
 public:
  /// `size`: elements of the buffers.
  AdamW(const OptimiserOptions& options, std::int64_t size, std::vector<UpdateRange> ranges);

  /// What follows the update of the elements `begin` to `end`, while they are in the nearest cache:
  /// at most so many, cut at multiples of that.
  using AfterPiece = std::function<void(std::int64_t begin, std::int64_t end)>;
  static constexpr std::int64_t piece_elements = weights::ChangeLog::piece_elements;

  /// One step on `masters`; the gradient is `gradients` times `scale`.
  void update(std::span<float> masters, std::span<const float> gradients, double scale, double lr,
              const AfterPiece& after_piece = {});
  /// First and second moments, laid out as the masters.
  [[nodiscard]] std::span<const float> mean() const { return mean_; }
  [[nodiscard]] std::span<const float> square() const { return square_; }
  /// Goes on after so many updates with these moments, of the masters' size.
  void restore(std::vector<float> mean, std::vector<float> square, std::int64_t steps);
  /// Updates so far.
  [[nodiscard]] std::int64_t steps() const { return steps_; }

 private:
  OptimiserOptions options_;
  std::vector<UpdateRange> ranges_;
  std::vector<float> mean_;
  std::vector<float> square_;
  std::int64_t steps_ = 0;
};

}  // namespace physarum::training
