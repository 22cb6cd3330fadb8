#include "engine_weights.hpp"

#include "physarum/base/contracts.hpp"

#include "physarum/weights/convert.hpp"

namespace physarum::rollout {

namespace {
using model::Storage;

/// Values that came as bf16 are bf16.
Storage storage_of(weights::TransferType type) {
  return type == weights::TransferType::bf16 ? Storage::bf16 : Storage::f32;
}

void make_feed_forward(const model::ModelConfig& c, Storage storage, LayerWeights& layer) {
  layer.gate_up = model::PackedMatrix(2 * c.intermediate_size, c.hidden_size, storage);
  layer.down = model::PackedMatrix(c.hidden_size, c.intermediate_size, storage);
  if (!c.feed_forward_bias) return;
  layer.gate_up_bias = model::AlignedBuffer(2 * c.intermediate_size);
  layer.down_bias = model::AlignedBuffer(c.hidden_size);
}

void make_experts(const model::ModelConfig& c, Storage storage, LayerWeights& layer) {
  const auto width = c.experts.intermediate_size;
  layer.router = model::PackedMatrix(c.experts.count, c.hidden_size, storage);
  for (std::int64_t e = 0; e < c.experts.count; ++e) {
    layer.experts.push_back({model::PackedMatrix(2 * width, c.hidden_size, storage),
                             model::PackedMatrix(c.hidden_size, width, storage)});
  }
}

LayerWeights make_layer(const model::ModelConfig& c, std::int64_t index, Storage storage) {
  LayerWeights layer;
  layer.input_norm = model::AlignedBuffer(c.hidden_size);
  layer.query_key_value = model::PackedMatrix(c.attention_width(), c.hidden_size, storage);
  if (c.query_key_value_bias) {
    layer.query_key_value_bias = model::AlignedBuffer(c.attention_width());
  }
  if (c.query_key_norm) {
    layer.query_norm = model::AlignedBuffer(c.head_dim);
    layer.key_norm = model::AlignedBuffer(c.head_dim);
  }
  layer.output = model::PackedMatrix(c.hidden_size, c.query_width(), storage);
  if (c.output_bias) layer.output_bias = model::AlignedBuffer(c.hidden_size);
  layer.attention_norm = model::AlignedBuffer(c.hidden_size);
  if (c.has_experts(index)) {
    make_experts(c, storage, layer);
  } else {
    make_feed_forward(c, storage, layer);
  }
  return layer;
}

/// "model.norm.weight, element 17".
std::string name_of(const weights::Catalogue& catalogue, std::int64_t offset) {
  for (std::int64_t i = 0; i < catalogue.size(); ++i) {
    const auto place = catalogue.elements(i);
    if (offset < place.begin || offset >= place.end) continue;
    return catalogue.spec(i).name + ", element " + std::to_string(offset - place.begin);
  }
  return "element " + std::to_string(offset);
}
}  // namespace

EngineWeights::EngineWeights(const model::ModelConfig& config)
    : config_(config),
      offsets_(model::model_offsets(config, model::ParameterLayout(config))),
      final_norm_(config.hidden_size) {}

void EngineWeights::make(weights::TransferType type) {
  type_ = type;
  const auto storage = storage_of(type);
  for (std::int64_t i = 0; i < config_.num_hidden_layers; ++i) {
    layers_.push_back(make_layer(config_, i, storage));
  }
  head_ = model::PackedMatrix(config_.vocab_size, config_.hidden_size, storage);
  embedding_.resize(static_cast<std::size_t>(config_.vocab_size * config_.hidden_size *
                                             weights::element_bytes(type)));
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    append_parameters(config_, offsets_.layers[i], layers_[i], parameters_);
  }
  parameters_.emplace_back(offsets_.embedding, config_.vocab_size, config_.hidden_size,
                           &embedding_);
  parameters_.emplace_back(offsets_.final_norm, 1, config_.hidden_size,
                           EngineParameter::Values{&final_norm_, 0});
  parameters_.emplace_back(offsets_.head, config_.vocab_size, config_.hidden_size,
                           EngineParameter::Rows{&head_, 0});
}

void EngineWeights::embed(base::TokenId token, std::span<float> to) const {
  base::expects(token >= 0 && token < config_.vocab_size, "a token beyond the vocabulary");
  const auto bytes = to.size() * static_cast<std::size_t>(weights::element_bytes(type_));
  weights::from_transfer(
      std::span(embedding_).subspan(static_cast<std::size_t>(token) * bytes, bytes), type_, to);
}

void EngineWeights::load(const weights::Image& image) {
  base::expects(image.version().valid(), "weights without a version");
  base::expects(image.catalogue().specs() == model::tensor_specs(config_),
                "weights of another model");
  if (layers_.empty()) make(image.catalogue().type());
  base::expects(image.catalogue().type() == type_, "weights in another type");
  if (!change_.set(parameters_, version_, image)) {
    for (const EngineParameter& parameter : parameters_) parameter.take(image, scratch_);
  }
  version_ = image.version();
}

bool EngineWeights::prepare(const weights::Image& image, std::int64_t budget_bytes) {
  if (!version_.valid()) return true;
  return change_.find(parameters_, version_, image, budget_bytes);
}

std::optional<std::string> EngineWeights::difference(const weights::Image& image) const {
  base::expects(version_.valid() && image.catalogue().type() == type_, "weights of this type");
  for (const EngineParameter& parameter : parameters_) {
    std::vector<KeptElement> different;
    parameter.find_different(image, 0, parameter.rows(), 1, different);
    if (!different.empty()) {
      return name_of(image.catalogue(), parameter.offset_of(different.front().place));
    }
  }
  return std::nullopt;
}

}  // namespace physarum::rollout
