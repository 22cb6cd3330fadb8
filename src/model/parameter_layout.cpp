#include "physarum/model/parameter_layout.hpp"

#include <utility>

#include "physarum/base/contracts.hpp"

#include "families.hpp"

namespace physarum::model {

namespace {
std::string layer_prefix(std::int64_t layer) {
  return "model.layers." + std::to_string(layer) + ".";
}

const ExpertNames& expert_names(const ModelConfig& config) {
  const auto* family = find_family(config.model_type);
  base::expects(family != nullptr && family->expert_names.router != nullptr,
                "a family that has experts");
  return family->expert_names;
}

/// Names and shapes of the tensors of one layer, in their order.
class LayerSpecs {
 public:
  LayerSpecs(const ModelConfig& config, std::int64_t layer, std::vector<weights::TensorSpec>& specs)
      : c_(config), layer_(layer), specs_(specs) {}

  void add_all() {
    add("input_layernorm.weight", {c_.hidden_size});
    add_attention();
    add("post_attention_layernorm.weight", {c_.hidden_size});
    if (c_.has_experts(layer_)) {
      add_experts();
    } else {
      add_feed_forward();
    }
  }

 private:
  void add(const std::string& name, std::vector<std::int64_t> shape) {
    specs_.push_back({layer_prefix(layer_) + name, std::move(shape)});
  }
  void add_attention() {
    add("self_attn.q_proj.weight", {c_.query_width(), c_.hidden_size});
    add("self_attn.k_proj.weight", {c_.key_value_width(), c_.hidden_size});
    add("self_attn.v_proj.weight", {c_.key_value_width(), c_.hidden_size});
    if (c_.query_key_value_bias) {
      add("self_attn.q_proj.bias", {c_.query_width()});
      add("self_attn.k_proj.bias", {c_.key_value_width()});
      add("self_attn.v_proj.bias", {c_.key_value_width()});
    }
    if (c_.query_key_norm) {
      add("self_attn.q_norm.weight", {c_.head_dim});
      add("self_attn.k_norm.weight", {c_.head_dim});
    }
    add("self_attn.o_proj.weight", {c_.hidden_size, c_.query_width()});
    if (c_.output_bias) add("self_attn.o_proj.bias", {c_.hidden_size});
  }
  void add_feed_forward() {
    add("mlp.gate_proj.weight", {c_.intermediate_size, c_.hidden_size});
    add("mlp.up_proj.weight", {c_.intermediate_size, c_.hidden_size});
    add("mlp.down_proj.weight", {c_.hidden_size, c_.intermediate_size});
    if (c_.feed_forward_bias) {
      add("mlp.gate_proj.bias", {c_.intermediate_size});
      add("mlp.up_proj.bias", {c_.intermediate_size});
      add("mlp.down_proj.bias", {c_.hidden_size});
    }
  }
  void add_experts() {
    const auto& names = expert_names(c_);
    const auto width = c_.experts.intermediate_size;
    add(names.router, {c_.experts.count, c_.hidden_size});
    for (std::int64_t e = 0; e < c_.experts.count; ++e) {
      const auto expert = names.experts + std::to_string(e);
      add(expert + names.gate, {width, c_.hidden_size});
      add(expert + names.up, {width, c_.hidden_size});
      add(expert + names.down, {c_.hidden_size, width});
    }
  }
  const ModelConfig& c_;
  std::int64_t layer_;
  std::vector<weights::TensorSpec>& specs_;
};

LayerOffsets layer_offsets(const ModelConfig& config, const ParameterLayout& layout,
                           std::int64_t layer) {
  const auto offset = [&](const std::string& name) {
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
  at.query_norm = offset("self_attn.q_norm.weight");
  at.key_norm = offset("self_attn.k_norm.weight");
  at.output = offset("self_attn.o_proj.weight");
  at.output_bias = offset("self_attn.o_proj.bias");
  at.attention_norm = offset("post_attention_layernorm.weight");
  at.gate = offset("mlp.gate_proj.weight");
  at.up = offset("mlp.up_proj.weight");
  at.down = offset("mlp.down_proj.weight");
  at.gate_bias = offset("mlp.gate_proj.bias");
  at.up_bias = offset("mlp.up_proj.bias");
  at.down_bias = offset("mlp.down_proj.bias");
  if (!config.has_experts(layer)) return at;
  const auto& names = expert_names(config);
  at.router = offset(names.router);
  for (std::int64_t e = 0; e < config.experts.count; ++e) {
    const auto expert = names.experts + std::to_string(e);
    at.experts.push_back(
        {offset(expert + names.gate), offset(expert + names.up), offset(expert + names.down)});
  }
  return at;
}
}  // namespace

std::vector<weights::TensorSpec> tensor_specs(const ModelConfig& config) {
  std::vector<weights::TensorSpec> specs;
  specs.push_back({"model.embed_tokens.weight", {config.vocab_size, config.hidden_size}});
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    LayerSpecs(config, layer, specs).add_all();
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
    at.layers.push_back(layer_offsets(config, layout, layer));
  }
  return at;
}

}  // namespace physarum::model
