#include <algorithm>
#include <string>

#include "families.hpp"
#include "family_fields.hpp"

namespace physarum::model {

namespace {
/// Every decoder_sparse_step-th layer has experts, but those of mlp_only_layers.
std::vector<bool> expert_layers(const ConfigFields& fields, std::int64_t layers) {
  const auto step = fields.positive_integer("decoder_sparse_step", 1);
  std::vector<bool> has_experts(static_cast<std::size_t>(layers), false);
  for (auto layer = step - 1; layer < layers; layer += step) {
    has_experts[static_cast<std::size_t>(layer)] = true;
  }
  for (const auto layer : fields.integers("mlp_only_layers")) {
    if (layer >= layers) {
      fields.refuse("mlp_only_layers", "holds " + std::to_string(layer),
                    "a layer's number is below num_hidden_layers");
    }
    has_experts[static_cast<std::size_t>(layer)] = false;
  }
  return has_experts;
}

void read_qwen3_moe(const ConfigFields& fields, ModelConfig& config) {
  config.query_key_norm = true;
  read_attention_bias(fields, config);
  read_switched_window(fields, config);
  ExpertConfig experts;
  // Some versions of transformers write the one name, some the other.
  experts.count =
      fields.positive_integer("num_experts", fields.positive_integer("num_local_experts", 128));
  experts.per_token = fields.positive_integer("num_experts_per_tok", 8);
  experts.intermediate_size = fields.positive_integer("moe_intermediate_size", 768);
  experts.normalise = fields.boolean("norm_topk_prob", false);
  experts.layers = expert_layers(fields, config.num_hidden_layers);
  if (std::ranges::find(experts.layers, true) == experts.layers.end()) {
    fields.refuse("mlp_only_layers", "or 'decoder_sparse_step' leaves no layer with experts",
                  "give the configuration as a qwen3");
  }
  config.experts = experts;
}

void write_qwen3_moe(const ModelConfig& config, nlohmann::ordered_json& json) {
  json["attention_bias"] = config.query_key_value_bias;
  write_switched_window(config, json);
  const auto& experts = config.experts;
  json["num_experts"] = experts.count;
  json["num_experts_per_tok"] = experts.per_token;
  json["moe_intermediate_size"] = experts.intermediate_size;
  json["norm_topk_prob"] = experts.normalise;
  json["decoder_sparse_step"] = 1;
  auto dense = nlohmann::ordered_json::array();
  for (std::size_t layer = 0; layer < experts.layers.size(); ++layer) {
    if (!experts.layers[layer]) dense.push_back(layer);
  }
  json["mlp_only_layers"] = dense;
}
}  // namespace

extern const Family qwen3_moe_family;
const Family qwen3_moe_family{.model_type = "qwen3_moe",
                              .architecture = "Qwen3MoeForCausalLM",
                              .defaults = {.num_key_value_heads = 4},
                              .expert_names = {.router = "mlp.gate.weight",
                                               .experts = "mlp.experts.",
                                               .gate = ".gate_proj.weight",
                                               .up = ".up_proj.weight",
                                               .down = ".down_proj.weight"},
                              .read = read_qwen3_moe,
                              .write = write_qwen3_moe};

}  // namespace physarum::model
