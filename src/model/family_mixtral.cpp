#include "families.hpp"
#include "family_fields.hpp"

namespace physarum::model {

namespace {
void read_mixtral(const ConfigFields& fields, ModelConfig& config) {
  if (fields.has("sliding_window")) read_window(fields, config);
  if (fields.number("router_jitter_noise", 0.0) != 0.0) {
    fields.refuse("router_jitter_noise", "is not 0", "noise in the router is not supported");
  }
  auto& experts = config.experts;
  experts.count = fields.positive_integer("num_local_experts", 8);
  experts.per_token = fields.positive_integer("num_experts_per_tok", 2);
  experts.intermediate_size = config.intermediate_size;
  experts.normalise = true;
  experts.layers.assign(static_cast<std::size_t>(config.num_hidden_layers), true);
}

void write_mixtral(const ModelConfig& config, nlohmann::ordered_json& json) {
  json["sliding_window"] = nullptr;
  if (config.sliding_window > 0) json["sliding_window"] = config.sliding_window;
  json["num_local_experts"] = config.experts.count;
  json["num_experts_per_tok"] = config.experts.per_token;
}
}  // namespace

extern const Family mixtral_family;
const Family mixtral_family{
    .model_type = "mixtral",
    .architecture = "MixtralForCausalLM",
    .defaults = {.rms_norm_eps = 1e-5, .rope_theta = 1e6, .num_key_value_heads = 8},
    .expert_names = {.router = "block_sparse_moe.gate.weight",
                     .experts = "block_sparse_moe.experts.",
                     .gate = ".w1.weight",
                     .up = ".w3.weight",
                     .down = ".w2.weight"},
    .read = read_mixtral,
    .write = write_mixtral};

}  // namespace physarum::model
