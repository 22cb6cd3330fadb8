#include "engine_weights.hpp"

#include <algorithm>
#include <bit>

#include "physarum/base/contracts.hpp"

#include "physarum/weights/convert.hpp"

#include "weight_walk.hpp"

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

/// Takes every part from an image.
class EngineWeights::Loader {
 public:
  Loader(EngineWeights& weights, const weights::Image& image) : weights_(weights), image_(image) {}

  void values(std::int64_t offset, model::AlignedBuffer& to, std::int64_t first,
              std::int64_t count) {
    weights::from_transfer(
        weights_.bytes_of(image_, offset, count), weights_.type_,
        to.span().subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
  }

  void rows(std::int64_t offset, model::PackedMatrix& to, std::int64_t first, std::int64_t rows) {
    auto& scratch = weights_.scratch_;
    const auto piece = piece_rows(to.in());
    scratch.reserve(std::min(rows, piece) * to.in());
    for (std::int64_t row = 0; row < rows; row += piece) {
      const auto some = std::min(piece, rows - row);
      const auto count = some * to.in();
      weights::from_transfer(weights_.bytes_of(image_, offset + row * to.in(), count),
                             weights_.type_, scratch.span().first(static_cast<std::size_t>(count)));
      to.pack(first + row, some, scratch.data(), to.in());
    }
  }

 private:
  EngineWeights& weights_;
  const weights::Image& image_;
};

/// Compares every part with an image, bit by bit, and keeps the first element that differs.
class EngineWeights::Comparer {
 public:
  Comparer(const EngineWeights& weights, const weights::Image& image)
      : weights_(weights), image_(image) {}

  void values(std::int64_t offset, const model::AlignedBuffer& of, std::int64_t first,
              std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) compare(offset + i, of.data()[first + i]);
  }

  void rows(std::int64_t offset, const model::PackedMatrix& of, std::int64_t first,
            std::int64_t rows) {
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = 0; column < of.in(); ++column) {
        compare(offset + row * of.in() + column, element(of, first + row, column));
      }
    }
  }

  [[nodiscard]] std::optional<std::int64_t> different() const { return different_; }

 private:
  static float element(const model::PackedMatrix& of, std::int64_t row, std::int64_t column) {
    constexpr auto width = model::PackedMatrix::panel_width;
    const auto at = column * width + row % width;
    if (of.storage() == Storage::f32) return of.panel(row / width)[at];
    return std::bit_cast<float>(static_cast<std::uint32_t>(of.half_panel(row / width)[at]) << 16);
  }

  void compare(std::int64_t offset, float has) {
    if (different_) return;
    float wanted = 0;
    weights::from_transfer(weights_.bytes_of(image_, offset, 1), weights_.type_, {&wanted, 1});
    if (std::bit_cast<std::uint32_t>(wanted) != std::bit_cast<std::uint32_t>(has)) {
      different_ = offset;
    }
  }

  const EngineWeights& weights_;
  const weights::Image& image_;
  std::optional<std::int64_t> different_;
};

void EngineWeights::load(const weights::Image& image) {
  base::expects(image.version().valid(), "weights without a version");
  base::expects(image.catalogue().specs() == model::tensor_specs(config_),
                "weights of another model");
  if (layers_.empty()) make(image.catalogue().type());
  base::expects(image.catalogue().type() == type_, "weights in another type");
  Loader loader(*this, image);
  WeightWalk<LayerWeights, Loader> walk(config_, loader);
  for (std::size_t i = 0; i < layers_.size(); ++i) walk.layer(offsets_.layers[i], layers_[i]);
  std::ranges::copy(bytes_of(image, offsets_.embedding, config_.vocab_size * config_.hidden_size),
                    embedding_.begin());
  loader.values(offsets_.final_norm, final_norm_, 0, config_.hidden_size);
  loader.rows(offsets_.head, head_, 0, config_.vocab_size);
  version_ = image.version();
}

std::optional<std::string> EngineWeights::difference(const weights::Image& image) const {
  base::expects(version_.valid() && image.catalogue().type() == type_, "weights of this type");
  Comparer comparer(*this, image);
  WeightWalk<const LayerWeights, Comparer> walk(config_, comparer);
  for (std::size_t i = 0; i < layers_.size(); ++i) walk.layer(offsets_.layers[i], layers_[i]);
  comparer.values(offsets_.final_norm, final_norm_, 0, config_.hidden_size);
  comparer.rows(offsets_.head, head_, 0, config_.vocab_size);
  auto offset = comparer.different();
  const auto embedding =
      bytes_of(image, offsets_.embedding, config_.vocab_size * config_.hidden_size);
  const auto pair = std::ranges::mismatch(embedding, embedding_);
  if (!offset && pair.in1 != embedding.end()) {
    offset = offsets_.embedding + (pair.in1 - embedding.begin()) / weights::element_bytes(type_);
  }
  if (!offset) return std::nullopt;
  return name_of(image.catalogue(), *offset);
}

}  // namespace physarum::rollout
