#pragma once

#include <cstdint>

#include "physarum/base/ids.hpp"

#include "physarum/sample/lease.hpp"

#include "physarum/buffer/options.hpp"

namespace physarum::buffer {

using base::WeightVersion;

enum class BatchForm : std::uint8_t {
  exact,           ///< step s takes groups [s*R, (s+1)*R), whatever comes first
  first_complete,  ///< step s takes the first R complete groups in id order
};

/// What a mode means for weights and batches. Step s trains weights of version s.
struct VersionPolicy {
  std::int64_t staleness = 0;
  sample::VersionRule rule = sample::VersionRule::at_least;
  BatchForm form = BatchForm::exact;
  /// Weights do not matter (supervised) or never change (no trainer): any step may be generated at
  /// any time and nothing grows stale.
  bool unversioned = false;

  [[nodiscard]] static VersionPolicy of(const BufferOptions& options, sample::Purpose purpose,
                                        bool has_trainers);

  /// May groups of this step be lent while `published` is the newest version?
  [[nodiscard]] bool opens(std::int64_t step, WeightVersion published) const;
  /// Version that a lease for this step names; `first` is the run's first version.
  [[nodiscard]] WeightVersion needs(std::int64_t step, WeightVersion first) const;
  /// Too old for `step`? Groups without versions are never too old.
  [[nodiscard]] bool too_old(std::int64_t step, WeightVersion oldest) const;
};

}  // namespace physarum::buffer
