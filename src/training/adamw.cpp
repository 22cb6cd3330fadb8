#include "adamw.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "physarum/base/contracts.hpp"

namespace physarum::training {
namespace {

/// What one step multiplies with, in fp32: the loop below runs once per weight.
struct Factors {
  float scale;
  float keep_mean;
  float take_mean;
  float keep_square;
  float take_square;
  float step;  // lr / (1 - beta1^t)
  float root;  // 1 / sqrt(1 - beta2^t)
  float eps;
  float keep_weight;  // 1 - lr * weight_decay
};

struct Buffers {
  float* weight;
  const float* gradient;
  float* mean;
  float* square;
};

Factors factors_of(const OptimiserOptions& options, std::int64_t step, double scale, double lr) {
  const auto t = static_cast<double>(step);
  const double mean_bias = 1 - std::pow(options.adam_beta1, t);
  const double square_bias = 1 - std::pow(options.adam_beta2, t);
  return {static_cast<float>(scale),
          static_cast<float>(options.adam_beta1),
          static_cast<float>(1 - options.adam_beta1),
          static_cast<float>(options.adam_beta2),
          static_cast<float>(1 - options.adam_beta2),
          static_cast<float>(lr / mean_bias),
          static_cast<float>(1 / std::sqrt(square_bias)),
          static_cast<float>(options.adam_eps),
          1.0F};
}

void update_piece(const Buffers& buffers, std::int64_t count, const Factors& f) {
  float* __restrict weight = buffers.weight;
  const float* __restrict gradient = buffers.gradient;
  float* __restrict mean = buffers.mean;
  float* __restrict square = buffers.square;
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = gradient[i] * f.scale;
    mean[i] = f.keep_mean * mean[i] + f.take_mean * g;
    square[i] = f.keep_square * square[i] + f.take_square * (g * g);
    const float denominator = std::sqrt(square[i]) * f.root + f.eps;
    weight[i] = f.keep_weight * weight[i] - f.step * (mean[i] / denominator);
  }
}

}  // namespace

AdamW::AdamW(const OptimiserOptions& options, std::int64_t size, std::vector<UpdateRange> ranges)
    : options_(options),
      ranges_(std::move(ranges)),
      mean_(static_cast<std::size_t>(size)),
      square_(static_cast<std::size_t>(size)) {
  for (const UpdateRange& range : ranges_) {
    base::expects(range.begin >= 0 && range.begin <= range.end && range.end <= size,
                  "ranges lie in the buffer");
  }
}

void AdamW::restore(std::vector<float> mean, std::vector<float> square, std::int64_t steps) {
  base::expects(mean.size() == mean_.size() && square.size() == square_.size() && steps >= 0,
                "moments of this model");
  mean_ = std::move(mean);
  square_ = std::move(square);
  steps_ = steps;
}

void AdamW::update(std::span<float> masters, std::span<const float> gradients, double scale,
                   double lr, const AfterPiece& after_piece) {
  base::expects(masters.size() == mean_.size() && gradients.size() == mean_.size(),
                "buffers of one layout");
  ++steps_;
  Factors factors = factors_of(options_, steps_, scale, lr);
  const auto kept = static_cast<float>(1 - lr * options_.weight_decay);
  for (const UpdateRange& range : ranges_) {
    factors.keep_weight = range.decay == Decay::yes ? kept : 1.0F;
    for (std::int64_t begin = range.begin; begin < range.end;) {
      const std::int64_t end = std::min(range.end, (begin / piece_elements + 1) * piece_elements);
      const Buffers buffers{masters.data() + begin, gradients.data() + begin, mean_.data() + begin,
                            square_.data() + begin};
      update_piece(buffers, end - begin, factors);
      if (after_piece) after_piece(begin, end);
      begin = end;
    }
  }
}

}  // namespace physarum::training
