#pragma once

#include <cstdint>
#include <optional>

#include "physarum/weights/catalogue.hpp"

namespace physarum::weights {

/// What it takes to go through elements of which some have changed: so much for each that is looked
/// at, and so much for each that has changed. Both are learnt, each from what it is the most of:
/// sparse deltas tell how fast this machine is, dense ones what a change costs on it.
class LearntCost {
 public:
  /// Seconds before anything is learnt.
  LearntCost(double look_s, double change_s) : look_s_(look_s), change_s_(change_s) {}
  [[nodiscard]] double of(double elements, double density) const;
  void learn(double elements, double density, double seconds);
  /// What was learnt fades while nothing new is: the machine may have been busy.
  void fade();

 private:
  double look_s_;
  double change_s_;
  double slowness_ = 1;   // of both
  double steepness_ = 1;  // of a change, beside that
};

/// Is a delta on its way, with encoding and applying, faster than a full image?
///
/// A full image is rounded, put by trainers, and read and verified by an engine: some time for each
/// element, and twice the time a byte took in the last full publish. A delta is encoded by a
/// trainer, applied by a buffer rank, which serves nobody meanwhile, and applied by an engine; few
/// bytes move. What that costs is learnt from each delta; so that there are any, one is tried now
/// and then where it is not expected to take twice as long. Each trainer rank asks for its own
/// share; one engine is counted, its processor taken to be as fast as a buffer rank's, and its link
/// as this rank's.
class DeltaRule {
 public:
  /// Elements that this rank encodes, and that an engine applies to.
  DeltaRule(std::int64_t share, std::int64_t image, TransferType type);

  /// This rank's share was put in full.
  void full_was_put(double seconds);
  /// This rank's share was encoded; `density` of it had changed.
  void delta_was_encoded(double density, double seconds);
  /// A buffer rank has applied a delta in which `density` of all elements had changed; it would
  /// have taken so long for the whole image.
  void delta_was_applied(double density, double seconds);
  /// True until a full image was put.
  [[nodiscard]] bool delta_pays(double density) const;

 private:
  double share_;
  double image_;
  double width_;
  std::optional<double> s_per_byte_;
  std::int64_t full_in_a_row_ = 0;
  LearntCost encode_;
  LearntCost apply_;
};

}  // namespace physarum::weights
