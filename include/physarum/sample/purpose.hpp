#pragma once

#include <cstdint>

namespace physarum::sample {

/// What the answers to a prompt are for.
enum class Purpose : std::uint8_t {
  train,       ///< generate and verify, for learning
  evaluate,    ///< generate and verify, for a figure
  supervised,  ///< no generation: the response is the label (SFT)
};

}  // namespace physarum::sample
