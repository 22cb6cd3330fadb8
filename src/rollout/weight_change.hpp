#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "physarum/base/ids.hpp"

#include "physarum/weights/image.hpp"

#include "engine_parameter.hpp"

namespace physarum::rollout {

/// What has to be set in an engine's weights so that they are those of an image: found in slices
/// while the engine computes with what it has, set at once in a pause. Most weights do not change
/// from one version to the next, so that the pause is far shorter than taking all of them.
class WeightChange {
 public:
  /// Compares about so many bytes more of `image` with `parameters`, which hold version `present`.
  /// True when all is compared, or when so much differs that it is not worth remembering. What was
  /// found for other versions is forgotten.
  bool find(std::span<const EngineParameter> parameters, base::WeightVersion present,
            const weights::Image& image, std::int64_t budget_bytes);
  /// Sets all that differs and forgets it. False, and nothing is set, if not everything was
  /// compared and remembered for these versions.
  bool set(std::span<const EngineParameter> parameters, base::WeightVersion present,
           const weights::Image& image);

 private:
  void forget();
  [[nodiscard]] bool is_for(base::WeightVersion present, const weights::Image& image) const {
    return present_ == present && target_ == image.version();
  }
  base::WeightVersion present_;
  base::WeightVersion target_;
  std::size_t parameter_ = 0;  ///< under comparison
  std::int64_t row_ = 0;       ///< of it
  std::size_t most_ = 0;       ///< differences that are worth remembering
  bool too_many_ = false;
  std::vector<KeptElement> different_;
  std::vector<std::size_t> ends_;  ///< of each parameter that is compared, in different_
};

}  // namespace physarum::rollout
