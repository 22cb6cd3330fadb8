#include "delta_rule.hpp"

#include <algorithm>
#include <vector>

#include "physarum/weights/convert.hpp"

#include "changed_elements.hpp"

namespace physarum::weights {
namespace {

// Processor time of one core (docs/weights.md): of an element looked at, and of one that changed;
// of one that is rounded into a full image, with its digest, and of the digest where it arrives.
constexpr double encode_look_s = 0.165e-9;
constexpr double full_round_s = 0.21e-9;
constexpr double full_verify_s = 0.03e-9;
constexpr double encode_change_s = 4.6e-9;
constexpr double apply_look_s = 0.05e-9;
constexpr double apply_change_s = 3e-9;
constexpr double wire_bytes_a_change = 1.2;
/// One measurement is not trusted beyond this.
constexpr double most_slowness = 20;
/// What was learnt fades while nothing new is: the machine may have been busy.
constexpr double fading = 0.8;

constexpr std::size_t sample_bytes = 1024;
constexpr std::size_t most_samples = 2048;

}  // namespace

double sampled_density(std::span<const std::byte> before, std::span<const float> values,
                       TransferType type) {
  const auto width = static_cast<std::size_t>(element_bytes(type));
  const std::size_t chunks = (before.size() + sample_bytes - 1) / sample_bytes;
  const std::size_t step = std::max<std::size_t>(1, chunks / most_samples);
  const FindChanged find = find_changed(width);
  std::vector<std::uint32_t> positions(sample_bytes / width + position_slack);
  std::vector<std::byte> after(sample_bytes);
  std::size_t elements = 0;
  std::size_t changed = 0;
  for (std::size_t at = 0; at < before.size(); at += step * sample_bytes) {
    const std::size_t count = std::min(sample_bytes, before.size() - at) / width;
    to_transfer(values.subspan(at / width, count), type, std::span(after).first(count * width));
    changed += find(before.data() + at, after.data(), count, positions.data());
    elements += count;
  }
  return elements == 0 ? 0 : static_cast<double>(changed) / static_cast<double>(elements);
}

double DeltaRule::encode_s(double density) const {
  return share_ * (encode_look_s + density * encode_change_s);
}

double DeltaRule::apply_s(double density) const {
  return image_ * (apply_look_s + density * apply_change_s);
}

void DeltaRule::full_was_put(double seconds) {
  if (share_ > 0) s_per_byte_ = seconds / (share_ * width_);
  slowness_ = 1 + (slowness_ - 1) * fading;
}

void DeltaRule::delta_was_encoded(double density, double seconds) {
  if (share_ == 0) return;
  const double measured = std::clamp(seconds / encode_s(density), 1 / most_slowness, most_slowness);
  slowness_ = (slowness_ + measured) / 2;
}

bool DeltaRule::delta_pays(double density) const {
  if (!s_per_byte_) return true;
  const double moved = share_ + image_;
  const double full_s =
      slowness_ * (share_ * full_round_s + image_ * full_verify_s) + moved * width_ * *s_per_byte_;
  const double delta_s = slowness_ * (encode_s(density) + apply_s(density)) +
                         moved * density * wire_bytes_a_change * *s_per_byte_;
  return delta_s < full_s;
}

}  // namespace physarum::weights
