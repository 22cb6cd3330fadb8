#pragma once

#include <string>
#include <vector>

#include "setup.hpp"

namespace physarum::app {

/// One line per kind of rank: what it will hold, in MB, by the sizes of the model and the options.
/// Counted: weights in all forms, gradients, optimiser state, the weight store, key-value cache.
/// Not counted: activations, libraries.
[[nodiscard]] std::vector<std::string> memory_plan(const Setup& setup);

}  // namespace physarum::app
