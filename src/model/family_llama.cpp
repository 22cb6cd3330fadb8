#include "families.hpp"
#include "family_fields.hpp"

namespace physarum::model {

namespace {
void read_llama(const ConfigFields& fields, ModelConfig& config) {
  refuse_window(fields);
  read_attention_bias(fields, config);
  config.feed_forward_bias = fields.boolean("mlp_bias", false);
}

void write_llama(const ModelConfig& config, nlohmann::ordered_json& json) {
  json["attention_bias"] = config.query_key_value_bias;
  if (config.feed_forward_bias) json["mlp_bias"] = true;
}
}  // namespace

extern const Family llama_family;
const Family llama_family{.model_type = "llama",
                          .architecture = "LlamaForCausalLM",
                          .read = read_llama,
                          .write = write_llama};

}  // namespace physarum::model
