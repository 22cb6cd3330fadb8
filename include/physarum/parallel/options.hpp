#pragma once

#include "physarum/base/options.hpp"

#include "physarum/parallel/layout.hpp"

namespace physarum::parallel {

/// Binds --trainer-ranks, --rollout-ranks, --buffer-ranks and --colocate, topic "ranks".
void declare_options(base::OptionTable& table, LayoutOptions& options);

}  // namespace physarum::parallel
