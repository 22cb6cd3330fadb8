#include "delta_rule.hpp"

#include <algorithm>
#include <cmath>

namespace physarum::weights {
namespace {

// Processor time of one core (docs/weights.md): of an element looked at, and of one that changed;
// of one that is rounded into a full image, with its digest, and of the digest where it arrives.
constexpr double encode_look_s = 0.01e-9;
constexpr double full_round_s = 0.21e-9;
constexpr double full_verify_s = 0.03e-9;
constexpr double encode_change_s = 6e-9;
constexpr double apply_look_s = 0.05e-9;
constexpr double apply_change_s = 5e-9;
constexpr double wire_bytes_a_change = 1.2;
/// A measurement is not believed beyond this; of its logarithm so much is learnt.
constexpr double most_surprise = 20;
constexpr double trust = 0.7;
/// Of the logarithm of what was learnt, what stays for the next version.
constexpr double fading = 0.98;

/// After so many full images in a row a delta is tried that is expected to take at most so many
/// times as long.
constexpr std::int64_t full_before_a_trial = 16;
constexpr double longest_trial = 2;

}  // namespace

double LearntCost::of(double elements, double density) const {
  return slowness_ * elements * (look_s_ + steepness_ * density * change_s_);
}

void LearntCost::learn(double elements, double density, double seconds) {
  const double expected = of(elements, density);
  if (expected <= 0) return;
  const double surprise = std::clamp(seconds / expected, 1 / most_surprise, most_surprise);
  const double of_looks = slowness_ * elements * look_s_ / expected;
  slowness_ *= std::pow(surprise, trust * of_looks);
  steepness_ *= std::pow(surprise, trust * (1 - of_looks));
}

void LearntCost::fade() {
  slowness_ = std::pow(slowness_, fading);
  steepness_ = std::pow(steepness_, fading);
}

DeltaRule::DeltaRule(std::int64_t share, std::int64_t image, TransferType type)
    : share_(static_cast<double>(share)),
      image_(static_cast<double>(image)),
      width_(static_cast<double>(element_bytes(type))),
      encode_(encode_look_s, encode_change_s),
      apply_(apply_look_s, apply_change_s) {}

void DeltaRule::full_was_put(double seconds) {
  if (share_ > 0) s_per_byte_ = seconds / (share_ * width_);
  ++full_in_a_row_;
  encode_.fade();
  apply_.fade();
}

void DeltaRule::delta_was_encoded(double density, double seconds) {
  full_in_a_row_ = 0;
  encode_.learn(share_, density, seconds);
}

void DeltaRule::delta_was_applied(double density, double seconds) {
  apply_.learn(image_, density, seconds);
}

bool DeltaRule::delta_pays(double density) const {
  if (!s_per_byte_) return true;
  const double moved = share_ + image_;
  const double full_s =
      share_ * full_round_s + image_ * full_verify_s + moved * width_ * *s_per_byte_;
  const double delta_s = encode_.of(share_, density) + 2 * apply_.of(image_, density) +
                         moved * density * wire_bytes_a_change * *s_per_byte_;
  const bool trial = full_in_a_row_ >= full_before_a_trial;
  return delta_s < (trial ? longest_trial : 1) * full_s;
}

}  // namespace physarum::weights
