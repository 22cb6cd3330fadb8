#pragma once

#include "setup.hpp"

namespace physarum::app {

/// What an engine's weights take in all forms: the image that follows the versions, what the
/// carrier keeps, the packed matrices of the same type, the rows of the embedding, which a tied
/// model multiplies by too, and what differs while weights change.
[[nodiscard]] std::int64_t engine_weight_bytes(const Setup& setup);
/// Of what the job may use on this machine, each rank's equal part.
[[nodiscard]] rollout::EngineMemory engine_share(const Setup& setup);
/// The rollout options with the size of the cache in bytes. Throws UserError if a share of the
/// memory leaves too little.
[[nodiscard]] rollout::RolloutOptions engine_options(const Setup& setup);

}  // namespace physarum::app
