#include "families.hpp"
#include "family_fields.hpp"

namespace physarum::model {

namespace {
void write_mistral(const ModelConfig& config, nlohmann::ordered_json& json) {
  json["sliding_window"] = nullptr;
  if (config.sliding_window > 0) json["sliding_window"] = config.sliding_window;
}
}  // namespace

extern const Family mistral_family;
const Family mistral_family{.model_type = "mistral",
                            .architecture = "MistralForCausalLM",
                            .defaults = {.num_key_value_heads = 8},
                            .read = read_window,
                            .write = write_mistral};

}  // namespace physarum::model
