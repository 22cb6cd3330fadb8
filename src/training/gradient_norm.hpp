#pragma once

#include <span>

namespace physarum::training {

/// Euclidean norm, summed in double in an order that depends on the size alone. Not finite if any
/// element is not.
[[nodiscard]] double global_norm(std::span<const float> gradients);

/// What the gradient is multiplied with so that its norm is at most `limit` (Megatron's rule:
/// limit / (norm + 1e-6) if that is below 1); 1 for limit 0.
[[nodiscard]] double clip_scale(double norm, double limit);

}  // namespace physarum::training
