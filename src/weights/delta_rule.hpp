#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "physarum/weights/catalogue.hpp"

namespace physarum::weights {

/// Share of the elements that rounded values will change, from a sample of up to about a million
/// that is spread evenly; some hundred microseconds. A value for each element.
[[nodiscard]] double sampled_density(std::span<const std::byte> before,
                                     std::span<const float> values, TransferType type);

/// Is a delta on its way, with encoding and applying, faster than a full image?
///
/// A full image is rounded, put by trainers and read and verified by an engine: some time for each
/// element, and twice the time a byte took in the last full publish. A delta costs a look at all
/// elements and some nanoseconds a changed one, on both sides, and few bytes. What encoding costs
/// here is learnt from each delta. Each trainer rank asks for its own share; one engine is counted,
/// and its link taken to be as fast as this rank's.
class DeltaRule {
 public:
  /// Elements that this rank encodes, and that an engine applies to.
  DeltaRule(std::int64_t share, std::int64_t image, TransferType type)
      : share_(static_cast<double>(share)),
        image_(static_cast<double>(image)),
        width_(static_cast<double>(element_bytes(type))) {}

  /// This rank's share was put in full.
  void full_was_put(double seconds);
  /// This rank's share was encoded; `density` of it had changed.
  void delta_was_encoded(double density, double seconds);
  /// True until a full image was put.
  [[nodiscard]] bool delta_pays(double density) const;

 private:
  [[nodiscard]] double encode_s(double density) const;
  [[nodiscard]] double apply_s(double density) const;

  double share_;
  double image_;
  double width_;
  std::optional<double> s_per_byte_;
  double slowness_ = 1;  // of this processor, as measured, against the constants
};

}  // namespace physarum::weights
