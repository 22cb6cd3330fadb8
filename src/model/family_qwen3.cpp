#include "families.hpp"
#include "family_fields.hpp"

namespace physarum::model {

namespace {
void read_qwen3(const ConfigFields& fields, ModelConfig& config) {
  config.query_key_norm = true;
  read_attention_bias(fields, config);
  read_layer_windows(fields, config);
}

void write_qwen3(const ModelConfig& config, nlohmann::ordered_json& json) {
  json["attention_bias"] = config.query_key_value_bias;
  write_layer_windows(config, json);
}
}  // namespace

extern const Family qwen3_family;
const Family qwen3_family{.model_type = "qwen3",
                          .architecture = "Qwen3ForCausalLM",
                          .defaults = {.num_key_value_heads = 32, .head_dim = 128},
                          .read = read_qwen3,
                          .write = write_qwen3};

}  // namespace physarum::model
