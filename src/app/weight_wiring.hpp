#pragma once

#include "physarum/parallel/layout.hpp"

#include "physarum/weights/weight_exchange.hpp"

#include "setup.hpp"

namespace physarum::app {

/// Longest wait for other ranks while wiring up, in seconds.
inline constexpr double wiring_patience_s = 120;

/// Collective over the world. The run's weight store: this rank's ends of it. Without trainer ranks
/// (`trains` false) the head publishes.
[[nodiscard]] weights::WeightExchange wire_weights(parallel::Layout& layout, const Setup& setup,
                                                   bool trains);

}  // namespace physarum::app
