#include "engine_weights.hpp"

#include <algorithm>

#include "physarum/base/contracts.hpp"

#include "physarum/weights/convert.hpp"

namespace physarum::rollout {

namespace {
using model::Storage;

/// Rows of a matrix that are in fp32 on their way, whole panels: about as many as the second cache
/// holds. The largest matrix in fp32 would be the largest memory that an engine takes.
std::int64_t piece_rows(std::int64_t columns) {
  constexpr std::int64_t piece_floats = 64 * 1024;
  constexpr auto panel = model::PackedMatrix::panel_width;
  return std::max(piece_floats / columns / panel * panel, panel);
}

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
}

void EngineWeights::embed(base::TokenId token, std::span<float> to) const {
  base::expects(token >= 0 && token < config_.vocab_size, "a token beyond the vocabulary");
  const auto bytes = to.size() * static_cast<std::size_t>(weights::element_bytes(type_));
  weights::from_transfer(
      std::span(embedding_).subspan(static_cast<std::size_t>(token) * bytes, bytes), type_, to);
}

std::span<const std::byte> EngineWeights::bytes_of(const weights::Image& image, std::int64_t offset,
                                                   std::int64_t count) const {
  const auto bytes = weights::element_bytes(type_);
  return image.bytes().subspan(static_cast<std::size_t>(offset * bytes),
                               static_cast<std::size_t>(count * bytes));
}

void EngineWeights::copy(const weights::Image& image, std::int64_t offset, model::AlignedBuffer& to,
                         std::int64_t first, std::int64_t count) {
  weights::from_transfer(
      bytes_of(image, offset, count), type_,
      to.span().subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
}

void EngineWeights::pack(const weights::Image& image, std::int64_t offset, model::PackedMatrix& to,
                         std::int64_t first, std::int64_t rows) {
  const auto piece = piece_rows(to.in());
  scratch_.reserve(std::min(rows, piece) * to.in());
  for (std::int64_t row = 0; row < rows; row += piece) {
    const auto some = std::min(piece, rows - row);
    const auto count = some * to.in();
    weights::from_transfer(bytes_of(image, offset + row * to.in(), count), type_,
                           scratch_.span().first(static_cast<std::size_t>(count)));
    to.pack(first + row, some, scratch_.data(), to.in());
  }
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
  if (config_.query_key_norm) {
    copy(image, at.query_norm, layer.query_norm, 0, config_.head_dim);
    copy(image, at.key_norm, layer.key_norm, 0, config_.head_dim);
  }
  pack(image, at.output, layer.output, 0, config_.hidden_size);
  if (config_.output_bias) copy(image, at.output_bias, layer.output_bias, 0, config_.hidden_size);
  copy(image, at.attention_norm, layer.attention_norm, 0, config_.hidden_size);
  if (layer.has_experts()) {
    load_experts(image, at, layer);
  } else {
    load_feed_forward(image, at, layer);
  }
}

void EngineWeights::load_feed_forward(const weights::Image& image, const model::LayerOffsets& at,
                                      LayerWeights& layer) {
  const auto width = config_.intermediate_size;
  pack(image, at.gate, layer.gate_up, 0, width);
  pack(image, at.up, layer.gate_up, width, width);
  pack(image, at.down, layer.down, 0, config_.hidden_size);
  if (!config_.feed_forward_bias) return;
  copy(image, at.gate_bias, layer.gate_up_bias, 0, width);
  copy(image, at.up_bias, layer.gate_up_bias, width, width);
  copy(image, at.down_bias, layer.down_bias, 0, config_.hidden_size);
}

void EngineWeights::load_experts(const weights::Image& image, const model::LayerOffsets& at,
                                 LayerWeights& layer) {
  const auto width = config_.experts.intermediate_size;
  pack(image, at.router, layer.router, 0, config_.experts.count);
  for (std::size_t e = 0; e < layer.experts.size(); ++e) {
    pack(image, at.experts[e].gate, layer.experts[e].gate_up, 0, width);
    pack(image, at.experts[e].up, layer.experts[e].gate_up, width, width);
    pack(image, at.experts[e].down, layer.experts[e].down, 0, config_.hidden_size);
  }
}

void EngineWeights::load(const weights::Image& image) {
  base::expects(image.version().valid(), "weights without a version");
  base::expects(image.catalogue().specs() == model::tensor_specs(config_),
                "weights of another model");
  if (layers_.empty()) make(image.catalogue().type());
  base::expects(image.catalogue().type() == type_, "weights in another type");
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    load_layer(image, offsets_.layers[i], layers_[i]);
  }
  std::ranges::copy(bytes_of(image, offsets_.embedding, config_.vocab_size * config_.hidden_size),
                    embedding_.begin());
  copy(image, offsets_.final_norm, final_norm_, 0, config_.hidden_size);
  pack(image, offsets_.head, head_, 0, config_.vocab_size);
  version_ = image.version();
}

}  // namespace physarum::rollout
