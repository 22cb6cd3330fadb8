#include "rope_fields.hpp"

#include <string>

namespace physarum::model {

namespace {
using Kind = RopeScaling::Kind;

const char* object_name(const ConfigFields& fields) {
  const bool older = fields.has("rope_scaling");
  if (older && fields.has("rope_parameters")) {
    fields.refuse("rope_scaling", "is set beside 'rope_parameters'", "give only one of the two");
  }
  return older ? "rope_scaling" : "rope_parameters";
}

void refuse_parts(const ConfigFields& fields, const ConfigFields& rope, const char* name) {
  if (rope.has("full_attention") || rope.has("sliding_attention")) {
    fields.refuse(name, "differs between kinds of layers", "only one for all layers is supported");
  }
  for (const auto* part : {&fields, &rope}) {
    if (part->positive("partial_rotary_factor", 1.0) != 1.0) {
      part->refuse("partial_rotary_factor", "is not 1", "only full rotary positions are supported");
    }
  }
}

RopeScaling read_llama3(const ConfigFields& fields, const ConfigFields& rope,
                        std::int64_t positions) {
  RopeScaling scaling;
  scaling.kind = Kind::llama3;
  scaling.factor = rope.positive("factor");
  scaling.low_freq_factor = rope.positive("low_freq_factor");
  scaling.high_freq_factor = rope.positive("high_freq_factor");
  constexpr const char* original = "original_max_position_embeddings";
  scaling.original_positions =
      fields.positive_integer(original, rope.positive_integer(original, positions));
  return scaling;
}
}  // namespace

void read_rope(const ConfigFields& fields, double usual_theta, ModelConfig& config) {
  const char* name = object_name(fields);
  const auto rope = fields.object(name);
  refuse_parts(fields, rope, name);
  config.rope_theta = rope.positive("rope_theta", fields.positive("rope_theta", usual_theta));
  const bool scaled = fields.has("rope_scaling");
  const auto type = rope.text("rope_type", rope.text("type", scaled ? "unnamed" : "default"));
  if (type == "llama3") {
    config.rope_scaling = read_llama3(fields, rope, config.max_position_embeddings);
  } else if (type == "linear") {
    config.rope_scaling.kind = Kind::linear;
    config.rope_scaling.factor = rope.positive("factor");
  } else if (type != "default") {
    fields.refuse(name, "asks for '" + type + "' rotary positions",
                  "only the types default, linear and llama3 are supported");
  }
}

void write_rope(const ModelConfig& config, nlohmann::ordered_json& json) {
  json["rope_theta"] = config.rope_theta;
  const auto& scaling = config.rope_scaling;
  if (scaling.kind == Kind::none) return;
  auto& rope = json["rope_scaling"];
  rope["rope_type"] = scaling.kind == Kind::linear ? "linear" : "llama3";
  rope["factor"] = scaling.factor;
  if (scaling.kind == Kind::linear) return;
  rope["low_freq_factor"] = scaling.low_freq_factor;
  rope["high_freq_factor"] = scaling.high_freq_factor;
  rope["original_max_position_embeddings"] = scaling.original_positions;
}

}  // namespace physarum::model
