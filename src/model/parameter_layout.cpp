#include "physarum/model/parameter_layout.hpp"

#include <utility>

#include "physarum/base/contracts.hpp"

namespace physarum::model {

namespace {
std::string layer_prefix(std::int64_t layer) {
  return "model.layers." + std::to_string(layer) + ".";
}

void add_layer(const ModelConfig& c, std::int64_t layer, std::vector<weights::TensorSpec>& specs) {
  const auto add = [&](const char* name, std::vector<std::int64_t> shape) {
    specs.push_back({layer_prefix(layer) + name, std::move(shape)});
  };
  add("input_layernorm.weight", {c.hidden_size});
  add("self_attn.q_proj.weight", {c.query_width(), c.hidden_size});
  add("self_attn.k_proj.weight", {c.key_value_width(), c.hidden_size});
  add("self_attn.v_proj.weight", {c.key_value_width(), c.hidden_size});
  if (c.query_key_value_bias) {
    add("self_attn.q_proj.bias", {c.query_width()});
    add("self_attn.k_proj.bias", {c.key_value_width()});
    add("self_attn.v_proj.bias", {c.key_value_width()});
  }
  add("self_attn.o_proj.weight", {c.hidden_size, c.query_width()});
  if (c.output_bias) add("self_attn.o_proj.bias", {c.hidden_size});
  add("post_attention_layernorm.weight", {c.hidden_size});
  add("mlp.gate_proj.weight", {c.intermediate_size, c.hidden_size});
  add("mlp.up_proj.weight", {c.intermediate_size, c.hidden_size});
  add("mlp.down_proj.weight", {c.hidden_size, c.intermediate_size});
}

LayerOffsets layer_offsets(const ParameterLayout& layout, std::int64_t layer) {
  const auto offset = [&](const char* name) {
    const auto index = layout.find(layer_prefix(layer) + name);
    return index < 0 ? -1 : layout.tensors()[static_cast<std::size_t>(index)].offset;
  };
  LayerOffsets at;
  at.input_norm = offset("input_layernorm.weight");
  at.query = offset("self_attn.q_proj.weight");
  at.key = offset("self_attn.k_proj.weight");
  at.value = offset("self_attn.v_proj.weight");
  at.query_bias = offset("self_attn.q_proj.bias");
  at.key_bias = offset("self_attn.k_proj.bias");
  at.value_bias = offset("self_attn.v_proj.bias");
  at.output = offset("self_attn.o_proj.weight");
  at.output_bias = offset("self_attn.o_proj.bias");
  at.attention_norm = offset("post_attention_layernorm.weight");
  at.gate = offset("mlp.gate_proj.weight");
  at.up = offset("mlp.up_proj.weight");
  at.down = offset("mlp.down_proj.weight");
  return at;
}
}  // namespace

std::vector<weights::TensorSpec> tensor_specs(const ModelConfig& config) {
  std::vector<weights::TensorSpec> specs;
  specs.push_back({"model.embed_tokens.weight", {config.vocab_size, config.hidden_size}});
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    add_layer(config, layer, specs);
  }
  specs.push_back({"model.norm.weight", {config.hidden_size}});
  if (!config.tie_word_embeddings) {
    specs.push_back({"lm_head.weight", {config.vocab_size, config.hidden_size}});
  }
  return specs;
}

ParameterLayout::ParameterLayout(const ModelConfig& config) {
  // Which type is no matter: the places do not depend on it.
  const weights::Catalogue catalogue(tensor_specs(config), weights::TransferType::f32);
  for (std::int64_t i = 0; i < catalogue.size(); ++i) {
    const auto& spec = catalogue.spec(i);
    index_.emplace(spec.name, i);
    // The end of a place is the end of its elements; the gap behind it belongs to no tensor.
    tensors_.push_back(
        {spec.name, spec.shape, catalogue.elements(i).begin, catalogue.elements(i).size()});
  }
  total_ = catalogue.total_elements();
}

std::int64_t ParameterLayout::find(std::string_view name) const {
  const auto at = index_.find(name);
  return at == index_.end() ? -1 : at->second;
}

ModelOffsets model_offsets(const ModelConfig& config, const ParameterLayout& layout) {
  const auto offset = [&](const char* name) {
    const auto index = layout.find(name);
    base::expects(index >= 0, "the layout was made for another model");
    return layout.tensors()[static_cast<std::size_t>(index)].offset;
  };
  ModelOffsets at;
  at.embedding = offset("model.embed_tokens.weight");
  at.final_norm = offset("model.norm.weight");
  at.head = config.tie_word_embeddings ? at.embedding : offset("lm_head.weight");
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    at.layers.push_back(layer_offsets(layout, layer));
  }
  return at;
}

}  // namespace physarum::model
