#pragma once

#include <cstdint>
#include <optional>

#include "physarum/base/deadline.hpp"

#include "physarum/weights/puller.hpp"

namespace physarum::rollout {

/// Brings a shadow image to new versions in slices, while the engine goes on with what it has.
class WeightFollower {
 public:
  struct Figures {
    std::int64_t pulls = 0;
    std::int64_t deltas = 0;  ///< versions that came as deltas
    std::int64_t wire_bytes = 0;
    std::int64_t retries = 0;
    std::int64_t failures = 0;  ///< of them, those with wrong bytes
    double pull_s = 0;
    double get_s = 0;    ///< of pull_s
    double apply_s = 0;  ///< of pull_s
  };

  WeightFollower(weights::Puller& puller, weights::CataloguePtr catalogue);
  /// An engine may be told to stop in the middle of a pull.
  ~WeightFollower();
  WeightFollower(const WeightFollower&) = delete;
  WeightFollower& operator=(const WeightFollower&) = delete;
  WeightFollower(WeightFollower&&) = delete;
  WeightFollower& operator=(WeightFollower&&) = delete;

  [[nodiscard]] bool pulling() const { return puller_.active(); }
  /// Valid when no pull goes on; invalid before the first.
  [[nodiscard]] base::WeightVersion version() const { return image_.version(); }
  [[nodiscard]] const weights::Image& image() const { return image_; }
  /// Begins to pull the newest version, or exactly this one.
  void begin(std::optional<base::WeightVersion> exactly);
  /// Moves or checks about so many bytes. A result when the pull has ended. Throws what the puller
  /// throws.
  std::optional<weights::PullResult> advance(std::int64_t budget_bytes);
  [[nodiscard]] const Figures& figures() const { return figures_; }

 private:
  weights::Puller& puller_;
  weights::Image image_;
  std::optional<base::Deadline> deadline_;
  Figures figures_;
};

}  // namespace physarum::rollout
