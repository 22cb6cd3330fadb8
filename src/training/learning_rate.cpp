#include "learning_rate.hpp"

#include <cmath>
#include <numbers>

namespace physarum::training {

LearningRate::LearningRate(const OptimiserOptions& options, std::int64_t total_steps)
    : options_(options),
      warmup_(static_cast<double>(options.lr_warmup_iters)),
      decay_(static_cast<double>(options.lr_decay_iters.value_or(total_steps))) {
  if (options.lr_warmup_fraction) warmup_ = *options.lr_warmup_fraction * decay_;
}

double LearningRate::share_left(double progress) const {
  if (options_.lr_decay_style == DecayStyle::cosine) {
    return (std::cos(std::numbers::pi * progress) + 1) / 2;
  }
  return 1 - progress;
}

double LearningRate::at(std::int64_t finished_steps) const {
  const auto steps = static_cast<double>(finished_steps);
  if (warmup_ > 0 && steps <= warmup_) {
    return options_.lr_warmup_init + (options_.lr - options_.lr_warmup_init) * steps / warmup_;
  }
  if (options_.lr_decay_style == DecayStyle::constant) return options_.lr;
  // A run that starts anew with fewer steps than its warm-up never comes here.
  if (steps > decay_ || decay_ <= warmup_) return options_.min_lr;
  const double left = share_left((steps - warmup_) / (decay_ - warmup_));
  return options_.min_lr + left * (options_.lr - options_.min_lr);
}

}  // namespace physarum::training
