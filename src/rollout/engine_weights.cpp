#include "engine_weights.hpp"

#include <algorithm>

#include "physarum/base/contracts.hpp"

#include "physarum/weights/convert.hpp"

namespace physarum::rollout {

namespace {
LayerWeights make_layer(const model::ModelConfig& c) {
  LayerWeights layer;
  layer.input_norm = model::AlignedBuffer(c.hidden_size);
  layer.query_key_value = model::PackedMatrix(c.attention_width(), c.hidden_size);
  if (c.query_key_value_bias) {
    layer.query_key_value_bias = model::AlignedBuffer(c.attention_width());
  }
  layer.output = model::PackedMatrix(c.hidden_size, c.query_width());
  if (c.output_bias) layer.output_bias = model::AlignedBuffer(c.hidden_size);
  layer.attention_norm = model::AlignedBuffer(c.hidden_size);
  layer.gate_up = model::PackedMatrix(2 * c.intermediate_size, c.hidden_size);
  layer.down = model::PackedMatrix(c.hidden_size, c.intermediate_size);
  return layer;
}
}  // namespace

EngineWeights::EngineWeights(const model::ModelConfig& config)
    : config_(config),
      offsets_(model::model_offsets(config, model::ParameterLayout(config))),
      embedding_(config.vocab_size * config.hidden_size),
      final_norm_(config.hidden_size),
      head_(config.vocab_size, config.hidden_size) {
  for (std::int64_t i = 0; i < config.num_hidden_layers; ++i) {
    layers_.push_back(make_layer(config));
  }
}

const float* EngineWeights::embedding(base::TokenId token) const {
  base::expects(token >= 0 && token < config_.vocab_size, "a token beyond the vocabulary");
  return embedding_.data() + token * config_.hidden_size;
}

const float* EngineWeights::read(const weights::Image& image, std::int64_t offset,
                                 std::int64_t count) {
  scratch_.reserve(count);
  const auto type = image.catalogue().type();
  const auto bytes = weights::element_bytes(type);
  weights::from_transfer(image.bytes().subspan(static_cast<std::size_t>(offset * bytes),
                                               static_cast<std::size_t>(count * bytes)),
                         type, scratch_.span().first(static_cast<std::size_t>(count)));
  return scratch_.data();
}

void EngineWeights::copy(const weights::Image& image, std::int64_t offset, model::AlignedBuffer& to,
                         std::int64_t first, std::int64_t count) {
  std::copy_n(read(image, offset, count), count, to.data() + first);
}

void EngineWeights::pack(const weights::Image& image, std::int64_t offset, model::PackedMatrix& to,
                         std::int64_t first, std::int64_t rows) {
  to.pack(first, rows, read(image, offset, rows * to.in()), to.in());
}

void EngineWeights::load_layer(const weights::Image& image, const model::LayerOffsets& at,
                               LayerWeights& layer) {
  const auto queries = config_.query_width();
  const auto keys = config_.key_value_width();
  copy(image, at.input_norm, layer.input_norm, 0, config_.hidden_size);
  pack(image, at.query, layer.query_key_value, 0, queries);
  pack(image, at.key, layer.query_key_value, queries, keys);
  pack(image, at.value, layer.query_key_value, queries + keys, keys);
  if (config_.query_key_value_bias) {
    copy(image, at.query_bias, layer.query_key_value_bias, 0, queries);
    copy(image, at.key_bias, layer.query_key_value_bias, queries, keys);
    copy(image, at.value_bias, layer.query_key_value_bias, queries + keys, keys);
  }
  pack(image, at.output, layer.output, 0, config_.hidden_size);
  if (config_.output_bias) copy(image, at.output_bias, layer.output_bias, 0, config_.hidden_size);
  copy(image, at.attention_norm, layer.attention_norm, 0, config_.hidden_size);
  pack(image, at.gate, layer.gate_up, 0, config_.intermediate_size);
  pack(image, at.up, layer.gate_up, config_.intermediate_size, config_.intermediate_size);
  pack(image, at.down, layer.down, 0, config_.hidden_size);
}

void EngineWeights::load(const weights::Image& image) {
  base::expects(image.version().valid(), "weights without a version");
  base::expects(image.catalogue().specs() == model::tensor_specs(config_),
                "weights of another model");
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    load_layer(image, offsets_.layers[i], layers_[i]);
  }
  copy(image, offsets_.embedding, embedding_, 0, config_.vocab_size * config_.hidden_size);
  copy(image, offsets_.final_norm, final_norm_, 0, config_.hidden_size);
  pack(image, offsets_.head, head_, 0, config_.vocab_size);
  version_ = image.version();
}

}  // namespace physarum::rollout
