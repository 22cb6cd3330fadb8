#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"
#include "physarum/base/joined.hpp"

#include "physarum/model/config.hpp"

#include "config_fields.hpp"
#include "families.hpp"
#include "read_file.hpp"
#include "rope_fields.hpp"

namespace physarum::model {

namespace {

constexpr std::uint64_t largest_config_bytes = std::uint64_t{1} << 20;

const Family& family_of(const ConfigFields& fields) {
  const auto type = fields.text("model_type");
  const auto* family = find_family(type);
  if (family == nullptr) {
    fields.refuse("model_type", "is '" + type + "', which is not supported",
                  "use one of " + base::joined(model_types(), ", "));
  }
  const auto architectures = fields.texts("architectures");
  if (!architectures.empty() &&
      std::ranges::find(architectures, family->architecture) == architectures.end()) {
    fields.refuse("architectures", "has no " + std::string(family->architecture),
                  "give a causal language model");
  }
  return *family;
}

void refuse_unsupported(const nlohmann::json& json, const ConfigFields& fields) {
  const auto activation = fields.text("hidden_act", "silu");
  if (activation != "silu") {
    fields.refuse("hidden_act", "is '" + activation + "'", "only silu is supported");
  }
  for (const char* dropout : {"attention_dropout", "hidden_dropout", "resid_pdrop"}) {
    if (fields.has(dropout) && json.at(dropout) != 0.0) {
      fields.refuse(dropout, "is not 0", "dropout is not supported");
    }
  }
  if (fields.has("quantization_config")) {
    fields.refuse("quantization_config", "is set", "give unquantised weights");
  }
}

void read_sizes(const ConfigFields& fields, const FamilyDefaults& defaults, ModelConfig& config) {
  config.hidden_size = fields.positive_integer("hidden_size");
  config.num_hidden_layers = fields.positive_integer("num_hidden_layers");
  config.num_attention_heads = fields.positive_integer("num_attention_heads");
  const bool own_keys = defaults.num_key_value_heads == 0 || fields.is_null("num_key_value_heads");
  config.num_key_value_heads = fields.positive_integer(
      "num_key_value_heads", own_keys ? config.num_attention_heads : defaults.num_key_value_heads);
  const auto head_dim =
      defaults.head_dim > 0
          ? defaults.head_dim
          : std::max<std::int64_t>(config.hidden_size / config.num_attention_heads, 1);
  config.head_dim = fields.positive_integer("head_dim", head_dim);
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
  const auto& family = family_of(fields);
  refuse_unsupported(json, fields);
  ModelConfig config;
  config.model_type = family.model_type;
  read_sizes(fields, family.defaults, config);
  // Before lists of as many entries are made.
  config.validate(where);
  config.rms_norm_eps = fields.positive("rms_norm_eps", family.defaults.rms_norm_eps);
  read_rope(fields, family.defaults.rope_theta, config);
  config.tie_word_embeddings = fields.boolean("tie_word_embeddings", false);
  config.initializer_range = fields.positive("initializer_range", 0.02);
  config.bos_token_ids = fields.token_ids("bos_token_id");
  config.eos_token_ids = fields.token_ids("eos_token_id");
  family.read(fields, config);
  if (fields.boolean("mlp_bias", false) && !config.feed_forward_bias) {
    fields.refuse("mlp_bias", "is true", "this family has no biases in its feed-forward part");
  }
  config.validate(where);
  return config;
}

ModelConfig ModelConfig::from_file(const std::filesystem::path& path) {
  return from_json(read_file(path, largest_config_bytes), path.string());
}

std::string ModelConfig::to_json() const {
  const auto* family = find_family(model_type);
  base::expects(family != nullptr, "a model of a known family");
  nlohmann::ordered_json json;
  json["architectures"] = {family->architecture};
  json["model_type"] = model_type;
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
  family->write(*this, json);
  json["rms_norm_eps"] = rms_norm_eps;
  write_rope(*this, json);
  json["tie_word_embeddings"] = tie_word_embeddings;
  json["initializer_range"] = initializer_range;
  json["bos_token_id"] = ids_to_json(bos_token_ids);
  json["eos_token_id"] = ids_to_json(eos_token_ids);
  json["torch_dtype"] = "float32";
  return json.dump(2) + "\n";
}

}  // namespace physarum::model
