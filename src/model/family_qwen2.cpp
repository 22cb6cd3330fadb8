#include "families.hpp"
#include "family_fields.hpp"

namespace physarum::model {

namespace {
void read_qwen2(const ConfigFields& fields, ModelConfig& config) {
  config.query_key_value_bias = true;
  read_layer_windows(fields, config);
}
}  // namespace

extern const Family qwen2_family;
const Family qwen2_family{.model_type = "qwen2",
                          .architecture = "Qwen2ForCausalLM",
                          .defaults = {.num_key_value_heads = 32},
                          .read = read_qwen2,
                          .write = write_layer_windows};

}  // namespace physarum::model
