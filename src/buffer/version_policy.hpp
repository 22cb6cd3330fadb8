#pragma once

#include <cstdint>

#include "physarum/base/ids.hpp"

#include "physarum/sample/lease.hpp"

#include "physarum/buffer/options.hpp"
#include "physarum/buffer/server_settings.hpp"

namespace physarum::buffer {

using base::WeightVersion;

enum class BatchForm : std::uint8_t {
  exact,           ///< step s takes groups [s*R, (s+1)*R), whatever comes first
  first_complete,  ///< step s takes the first R complete groups in id order
  first_accepted,  ///< step s takes the R groups that are complete and accepted first
};

/// What a mode means for weights and batches. Step s trains weights of version s.
struct VersionPolicy {
  std::int64_t staleness = 0;
  std::int64_t most_age = 0;      ///< versions by which a token that is learnt from may be older
  std::int64_t most_resumes = 0;  ///< of a group that was left unfinished
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
  /// Has an unfinished group to be finished in `step`, because it will be too old for the next or
  /// has been taken up again often enough? `oldest`: of its tokens; invalid if it has none.
  [[nodiscard]] bool is_due(std::int64_t step, WeightVersion oldest, std::int64_t resumes) const;
  /// Too old for `step`? Groups without versions are never too old.
  [[nodiscard]] bool too_old(std::int64_t step, WeightVersion oldest) const;
};

/// The version whose tokens alone are learnt from in a step; invalid: tokens of all versions.
[[nodiscard]] WeightVersion own_version(std::int64_t step, const ServerSettings& settings);

}  // namespace physarum::buffer
