#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

#include "physarum/base/error.hpp"

#include "physarum/model/config.hpp"

#include "config_fields.hpp"
#include "read_file.hpp"

namespace physarum::model {

namespace {

constexpr std::uint64_t largest_config_bytes = std::uint64_t{1} << 20;

Family family_of(const ConfigFields& fields) {
  const auto type = fields.text("model_type");
  if (type == "qwen2") return Family::qwen2;
  if (type == "llama") return Family::llama;
  fields.refuse("model_type", "is '" + type + "', which is not supported", "use qwen2 or llama");
}

/// Both spellings: a `rope_scaling` beside `rope_theta`, or one object `rope_parameters`.
double rope_theta_of(const ConfigFields& fields) {
  if (fields.has("rope_scaling")) {
    const auto scaling = fields.object("rope_scaling");
    const auto type = scaling.text("rope_type", scaling.text("type", "scaled"));
    if (type != "default") {
      fields.refuse("rope_scaling", "asks for '" + type + "' rotary positions",
                    "only unscaled ones are supported");
    }
  }
  const auto rope = fields.object("rope_parameters");
  if (rope.text("rope_type", "default") != "default") {
    fields.refuse("rope_parameters", "asks for '" + rope.text("rope_type") + "' rotary positions",
                  "only rope_type 'default' is supported");
  }
  for (const auto& part : {fields, rope}) {
    if (part.positive("partial_rotary_factor", 1.0) != 1.0) {
      part.refuse("partial_rotary_factor", "is not 1", "only full rotary positions are supported");
    }
  }
  return rope.positive("rope_theta", fields.positive("rope_theta", 10000.0));
}

void refuse_sliding_windows(const ConfigFields& fields, Family family) {
  const char* mend = "only full attention is supported";
  if (fields.boolean("use_sliding_window", false)) {
    fields.refuse("use_sliding_window", "is true", mend);
  }
  // Qwen2 writes the width of a window that it does not use.
  if (family != Family::qwen2 && fields.has("sliding_window")) {
    fields.refuse("sliding_window", "is set", mend);
  }
}

void refuse_layer_types(const nlohmann::json& config, const ConfigFields& fields) {
  const auto types = config.find("layer_types");
  if (types == config.end() || types->is_null()) return;
  for (const auto& type : *types) {
    if (type != "full_attention") {
      fields.refuse("layer_types", "holds " + type.dump(), "only full_attention is supported");
    }
  }
}

void refuse_unsupported(const nlohmann::json& config, const ConfigFields& fields, Family family) {
  const auto activation = fields.text("hidden_act", "silu");
  if (activation != "silu") {
    fields.refuse("hidden_act", "is '" + activation + "'", "only silu is supported");
  }
  for (const char* dropout : {"attention_dropout", "hidden_dropout", "resid_pdrop"}) {
    if (fields.has(dropout) && config.at(dropout) != 0.0) {
      fields.refuse(dropout, "is not 0", "dropout is not supported");
    }
  }
  if (fields.boolean("mlp_bias", false)) {
    fields.refuse("mlp_bias", "is true", "biases in the feed-forward part are not supported");
  }
  if (fields.has("quantization_config")) {
    fields.refuse("quantization_config", "is set", "give unquantised weights");
  }
  refuse_sliding_windows(fields, family);
  refuse_layer_types(config, fields);
}

void read_sizes(const ConfigFields& fields, ModelConfig& config) {
  config.hidden_size = fields.positive_integer("hidden_size");
  config.num_hidden_layers = fields.positive_integer("num_hidden_layers");
  config.num_attention_heads = fields.positive_integer("num_attention_heads");
  config.num_key_value_heads =
      fields.positive_integer("num_key_value_heads", config.num_attention_heads);
  config.head_dim = fields.positive_integer(
      "head_dim", std::max<std::int64_t>(config.hidden_size / config.num_attention_heads, 1));
  config.intermediate_size = fields.positive_integer("intermediate_size");
  config.vocab_size = fields.positive_integer("vocab_size");
  config.max_position_embeddings = fields.positive_integer("max_position_embeddings");
}

nlohmann::json parse_object(std::string_view text, std::string_view where) {
  auto config = nlohmann::json::parse(text, nullptr, false);
  if (config.is_discarded()) {
    throw base::UserError("is not valid JSON", where, "give the config.json of a model");
  }
  return config;
}

nlohmann::ordered_json ids_to_json(const std::vector<base::TokenId>& ids) {
  if (ids.empty()) return nullptr;
  if (ids.size() == 1) return ids.front();
  return ids;
}

}  // namespace

ModelConfig ModelConfig::from_json(std::string_view text, std::string_view where) {
  const auto json = parse_object(text, where);
  const ConfigFields fields(json, std::string(where));
  ModelConfig config;
  config.family = family_of(fields);
  refuse_unsupported(json, fields, config.family);
  read_sizes(fields, config);
  config.rms_norm_eps = fields.positive("rms_norm_eps", 1e-6);
  config.rope_theta = rope_theta_of(fields);
  config.tie_word_embeddings = fields.boolean("tie_word_embeddings", false);
  const bool llama_bias = fields.boolean("attention_bias", false);
  config.query_key_value_bias = config.family == Family::qwen2 || llama_bias;
  config.output_bias = config.family == Family::llama && llama_bias;
  config.initializer_range = fields.positive("initializer_range", 0.02);
  config.bos_token_ids = fields.token_ids("bos_token_id");
  config.eos_token_ids = fields.token_ids("eos_token_id");
  config.validate(where);
  return config;
}

ModelConfig ModelConfig::from_file(const std::filesystem::path& path) {
  return from_json(read_file(path, largest_config_bytes), path.string());
}

std::string ModelConfig::to_json() const {
  const bool qwen2 = family == Family::qwen2;
  nlohmann::ordered_json json;
  json["architectures"] = {qwen2 ? "Qwen2ForCausalLM" : "LlamaForCausalLM"};
  json["model_type"] = qwen2 ? "qwen2" : "llama";
  json["hidden_size"] = hidden_size;
  json["num_hidden_layers"] = num_hidden_layers;
  json["num_attention_heads"] = num_attention_heads;
  json["num_key_value_heads"] = num_key_value_heads;
  json["head_dim"] = head_dim;
  json["intermediate_size"] = intermediate_size;
  json["vocab_size"] = vocab_size;
  json["max_position_embeddings"] = max_position_embeddings;
  json["hidden_act"] = "silu";
  json["attention_dropout"] = 0.0;
  if (!qwen2) json["attention_bias"] = query_key_value_bias;
  if (qwen2) json["use_sliding_window"] = false;
  json["rms_norm_eps"] = rms_norm_eps;
  json["rope_theta"] = rope_theta;
  json["tie_word_embeddings"] = tie_word_embeddings;
  json["initializer_range"] = initializer_range;
  json["bos_token_id"] = ids_to_json(bos_token_ids);
  json["eos_token_id"] = ids_to_json(eos_token_ids);
  json["torch_dtype"] = "float32";
  return json.dump(2) + "\n";
}

}  // namespace physarum::model
