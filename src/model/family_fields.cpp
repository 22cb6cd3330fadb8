#include "family_fields.hpp"

#include <algorithm>
#include <string>

namespace physarum::model {

namespace {
constexpr const char* full = "full_attention";
constexpr const char* sliding = "sliding_attention";
/// What transformers takes where a field is absent.
constexpr std::int64_t usual_window = 4096;
constexpr std::int64_t usual_max_window_layers = 28;

void set_all_layers(std::int64_t window, ModelConfig& config) {
  config.sliding_window = window;
  config.window_layers.assign(window > 0 ? static_cast<std::size_t>(config.num_hidden_layers) : 0,
                              true);
}

/// The width of a window that is in use; 0 if the file says null.
std::int64_t width_of(const ConfigFields& fields) {
  if (fields.is_null("sliding_window")) return 0;
  return fields.positive_integer("sliding_window", usual_window);
}

std::vector<bool> named_layers(const ConfigFields& fields, std::int64_t layers) {
  const auto types = fields.texts("layer_types");
  if (static_cast<std::int64_t>(types.size()) != layers) {
    fields.refuse("layer_types", "has " + std::to_string(types.size()) + " entries",
                  "it must have num_hidden_layers, " + std::to_string(layers));
  }
  std::vector<bool> windows;
  for (const auto& type : types) {
    if (type != full && type != sliding) {
      fields.refuse("layer_types", "holds '" + type + "'",
                    "only full_attention and sliding_attention are supported");
    }
    windows.push_back(type == sliding);
  }
  return windows;
}
}  // namespace

void read_attention_bias(const ConfigFields& fields, ModelConfig& config) {
  config.query_key_value_bias = fields.boolean("attention_bias", false);
  config.output_bias = config.query_key_value_bias;
}

void read_window(const ConfigFields& fields, ModelConfig& config) {
  set_all_layers(width_of(fields), config);
}

void read_switched_window(const ConfigFields& fields, ModelConfig& config) {
  // The width stands in the file of models that do not use it, too.
  set_all_layers(fields.boolean("use_sliding_window", false) ? width_of(fields) : 0, config);
}

void read_layer_windows(const ConfigFields& fields, ModelConfig& config) {
  read_switched_window(fields, config);
  const bool named = fields.has("layer_types");
  std::vector<bool> layers(static_cast<std::size_t>(config.num_hidden_layers), false);
  if (named) layers = named_layers(fields, config.num_hidden_layers);
  if (config.sliding_window == 0) {
    if (std::ranges::find(layers, true) != layers.end()) {
      fields.refuse("layer_types", "names sliding_attention, but no window is in use",
                    "give use_sliding_window and sliding_window");
    }
    return;
  }
  if (!named) {
    const auto first = fields.integer("max_window_layers", usual_max_window_layers);
    for (std::int64_t layer = first; layer < config.num_hidden_layers; ++layer) {
      layers[static_cast<std::size_t>(layer)] = true;
    }
  }
  const bool any = std::ranges::find(layers, true) != layers.end();
  config.sliding_window = any ? config.sliding_window : 0;
  config.window_layers = any ? layers : std::vector<bool>();
}

void refuse_window(const ConfigFields& fields) {
  if (fields.has("sliding_window")) {
    fields.refuse("sliding_window", "is set", "this family has full attention only");
  }
  if (!fields.has("layer_types")) return;
  for (const auto& type : fields.texts("layer_types")) {
    if (type == full) continue;
    fields.refuse("layer_types", "holds '" + type + "'", "this family has full attention only");
  }
}

void write_switched_window(const ModelConfig& config, nlohmann::ordered_json& json) {
  json["use_sliding_window"] = config.sliding_window > 0;
  if (config.sliding_window > 0) json["sliding_window"] = config.sliding_window;
}

void write_layer_windows(const ModelConfig& config, nlohmann::ordered_json& json) {
  write_switched_window(config, json);
  for (const bool windowed : config.window_layers) {
    json["layer_types"].push_back(windowed ? sliding : full);
  }
}

}  // namespace physarum::model
