#pragma once

#include <nlohmann/json.hpp>

#include "physarum/model/config.hpp"

#include "config_fields.hpp"

namespace physarum::model {

/// Rotary positions in either spelling: `rope_theta` with or without `rope_scaling`, or one object
/// `rope_parameters`. Throws UserError that names the type if it is not supported.
void read_rope(const ConfigFields& fields, double usual_theta, ModelConfig& config);
/// In the older spelling, which all versions of transformers read.
void write_rope(const ModelConfig& config, nlohmann::ordered_json& json);

}  // namespace physarum::model
