#pragma once

#include <nlohmann/json.hpp>

#include "physarum/model/config.hpp"

#include "config_fields.hpp"

namespace physarum::model {

// Fields that several families share.

/// attention_bias: query, key, value and output projections have biases, or none has.
void read_attention_bias(const ConfigFields& fields, ModelConfig& config);

/// Mistral's kind: a window of `sliding_window` tokens in all layers; null: none.
void read_window(const ConfigFields& fields, ModelConfig& config);
/// Qwen's kind: the window is there only with use_sliding_window.
void read_switched_window(const ConfigFields& fields, ModelConfig& config);
/// Qwen's kind again, in the layers that layer_types names, or without it from max_window_layers
/// on.
void read_layer_windows(const ConfigFields& fields, ModelConfig& config);
/// For families without windows.
void refuse_window(const ConfigFields& fields);

void write_switched_window(const ModelConfig& config, nlohmann::ordered_json& json);
void write_layer_windows(const ModelConfig& config, nlohmann::ordered_json& json);

}  // namespace physarum::model
