#include "engine_parameter.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "physarum/base/contracts.hpp"

#include "physarum/weights/convert.hpp"

#include "engine_weights.hpp"

namespace physarum::rollout {
namespace {

constexpr auto panel_width = model::PackedMatrix::panel_width;

/// Rows of a matrix that are in fp32 on their way, whole panels: about as many as the second cache
/// holds. The largest matrix in fp32 would be the largest memory that an engine takes.
std::int64_t piece_rows(std::int64_t columns) {
  constexpr std::int64_t piece_floats = 64 * 1024;
  return std::max(piece_floats / columns / panel_width * panel_width, panel_width);
}

template <class Bits>
Bits bits_at(const std::byte* memory, std::int64_t index) {
  Bits bits;
  std::memcpy(&bits, memory + static_cast<std::size_t>(index) * sizeof bits, sizeof bits);
  return bits;
}

template <class Bits>
const Bits* kept_in(const model::PackedMatrix& matrix) {
  if constexpr (sizeof(Bits) == 2) {
    return matrix.halves();
  } else {
    return reinterpret_cast<const Bits*>(matrix.floats());
  }
}

/// Rows of one strip of the matrix, from `first` on, against rows of an image. Columns are taken in
/// blocks, so that a block of the strip stays in the first cache while each row steps through it.
template <class Bits>
void compare_strip(const model::PackedMatrix& matrix, std::int64_t first, std::int64_t rows,
                   const std::byte* image, std::size_t most, std::vector<KeptElement>& different) {
  constexpr std::int64_t block = 64;
  const Bits* kept = kept_in<Bits>(matrix);
  const std::int64_t columns = matrix.in();
  const std::int64_t width = matrix.strip_width(first);
  for (std::int64_t begin = 0; begin < columns; begin += block) {
    const auto end = std::min(begin + block, columns);
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::byte* values = image + static_cast<std::size_t>(row * columns) * sizeof(Bits);
      std::int64_t place = matrix.place(first + row, begin);
      for (std::int64_t column = begin; column < end; ++column, place += width) {
        const Bits wanted = bits_at<Bits>(values, column);
        if (kept[place] == wanted) continue;
        if (different.size() > most) return;
        different.push_back({static_cast<std::uint32_t>(place), wanted});
      }
    }
  }
}

template <class Bits>
void compare_rows(const model::PackedMatrix& matrix, std::int64_t first, std::int64_t rows,
                  const std::byte* image, std::size_t most, std::vector<KeptElement>& different) {
  for (std::int64_t row = 0; row < rows;) {
    const auto in_strip = (first + row) % model::gemm_strip_columns;
    const auto some = std::min(rows - row, model::gemm_strip_columns - in_strip);
    compare_strip<Bits>(matrix, first + row, some,
                        image + static_cast<std::size_t>(row * matrix.in()) * sizeof(Bits), most,
                        different);
    row += some;
  }
}

}  // namespace

std::span<const std::byte> EngineParameter::bytes_of(const weights::Image& image, std::int64_t row,
                                                     std::int64_t rows) const {
  const auto bytes = weights::element_bytes(image.catalogue().type()) * columns_;
  const auto begin = weights::element_bytes(image.catalogue().type()) * offset_ + row * bytes;
  return image.bytes().subspan(static_cast<std::size_t>(begin),
                               static_cast<std::size_t>(rows * bytes));
}

void EngineParameter::take(const weights::Image& image, model::AlignedBuffer& scratch) const {
  const auto type = image.catalogue().type();
  if (const auto* values = std::get_if<Values>(&kept_)) {
    weights::from_transfer(bytes_of(image, 0, 1), type,
                           values->buffer->span().subspan(static_cast<std::size_t>(values->first),
                                                          static_cast<std::size_t>(columns_)));
  } else if (const auto* table = std::get_if<Table*>(&kept_)) {
    std::ranges::copy(bytes_of(image, 0, rows_), (*table)->begin());
  } else {
    const auto& to = std::get<Rows>(kept_);
    const auto piece = piece_rows(columns_);
    scratch.reserve(std::min(rows_, piece) * columns_);
    for (std::int64_t row = 0; row < rows_; row += piece) {
      const auto some = std::min(piece, rows_ - row);
      weights::from_transfer(bytes_of(image, row, some), type,
                             scratch.span().first(static_cast<std::size_t>(some * columns_)));
      to.matrix->pack(to.first + row, some, scratch.data(), columns_);
    }
  }
}

void EngineParameter::find_different(const weights::Image& image, std::int64_t first,
                                     std::int64_t count, std::size_t most,
                                     std::vector<KeptElement>& different) const {
  const std::byte* wanted = bytes_of(image, first, count).data();
  const bool half = image.catalogue().type() == weights::TransferType::bf16;
  if (const auto* rows = std::get_if<Rows>(&kept_)) {
    if (half) {
      compare_rows<std::uint16_t>(*rows->matrix, rows->first + first, count, wanted, most,
                                  different);
    } else {
      compare_rows<std::uint32_t>(*rows->matrix, rows->first + first, count, wanted, most,
                                  different);
    }
    return;
  }
  for (std::int64_t i = 0; i < count * columns_ && different.size() <= most; ++i) {
    const std::uint32_t bits =
        half ? bits_at<std::uint16_t>(wanted, i) : bits_at<std::uint32_t>(wanted, i);
    const auto at = first * columns_ + i;
    if (const auto* values = std::get_if<Values>(&kept_)) {
      // bf16 is the upper half of fp32.
      const std::uint32_t value = half ? bits << 16 : bits;
      const float has = values->buffer->data()[values->first + at];
      if (std::bit_cast<std::uint32_t>(has) == value) continue;
      different.push_back({static_cast<std::uint32_t>(values->first + at), value});
    } else {
      const std::byte* table = std::get<Table*>(kept_)->data();
      if ((half ? bits_at<std::uint16_t>(table, at) : bits_at<std::uint32_t>(table, at)) == bits) {
        continue;
      }
      different.push_back({static_cast<std::uint32_t>(at), bits});
    }
  }
}

void EngineParameter::set(std::span<const KeptElement> elements) const {
  if (const auto* rows = std::get_if<Rows>(&kept_)) {
    rows->matrix->set_bits(elements);
  } else if (const auto* values = std::get_if<Values>(&kept_)) {
    for (const KeptElement element : elements) {
      values->buffer->data()[element.place] = std::bit_cast<float>(element.bits);
    }
  } else {
    auto& table = *std::get<Table*>(kept_);
    const auto width = table.size() / static_cast<std::size_t>(rows_ * columns_);
    for (const KeptElement element : elements) {
      std::memcpy(table.data() + element.place * width, &element.bits, width);
    }
  }
}

std::int64_t EngineParameter::offset_of(std::uint32_t place) const {
  const auto at = static_cast<std::int64_t>(place);
  if (const auto* rows = std::get_if<Rows>(&kept_)) {
    const auto element = rows->matrix->element(at);
    return offset_ + (element.row - rows->first) * columns_ + element.column;
  }
  const auto* values = std::get_if<Values>(&kept_);
  return offset_ + at - (values != nullptr ? values->first : 0);
}

namespace {

/// Says of each parameter of a layer where it comes from.
class LayerParameters {
 public:
  LayerParameters(const model::ModelConfig& config, const model::LayerOffsets& at,
                  std::vector<EngineParameter>& parameters)
      : c_(config), at_(at), parameters_(parameters) {}

  void append(LayerWeights& layer) {
    values(at_.input_norm, layer.input_norm, 0, c_.hidden_size);
    attention(layer);
    rows(at_.output, layer.output, 0, c_.hidden_size);
    if (c_.output_bias) values(at_.output_bias, layer.output_bias, 0, c_.hidden_size);
    values(at_.attention_norm, layer.attention_norm, 0, c_.hidden_size);
    if (layer.has_experts()) {
      experts(layer);
    } else {
      feed_forward(layer);
    }
  }

 private:
  void attention(LayerWeights& layer) {
    const auto queries = c_.query_width();
    const auto keys = c_.key_value_width();
    rows(at_.query, layer.query_key_value, 0, queries);
    rows(at_.key, layer.query_key_value, queries, keys);
    rows(at_.value, layer.query_key_value, queries + keys, keys);
    if (c_.query_key_value_bias) {
      values(at_.query_bias, layer.query_key_value_bias, 0, queries);
      values(at_.key_bias, layer.query_key_value_bias, queries, keys);
      values(at_.value_bias, layer.query_key_value_bias, queries + keys, keys);
    }
    if (c_.query_key_norm) {
      values(at_.query_norm, layer.query_norm, 0, c_.head_dim);
      values(at_.key_norm, layer.key_norm, 0, c_.head_dim);
    }
  }

  void feed_forward(LayerWeights& layer) {
    const auto width = c_.intermediate_size;
    rows(at_.gate, layer.gate_up, 0, width);
    rows(at_.up, layer.gate_up, width, width);
    rows(at_.down, layer.down, 0, c_.hidden_size);
    if (!c_.feed_forward_bias) return;
    values(at_.gate_bias, layer.gate_up_bias, 0, width);
    values(at_.up_bias, layer.gate_up_bias, width, width);
    values(at_.down_bias, layer.down_bias, 0, c_.hidden_size);
  }

  void experts(LayerWeights& layer) {
    const auto width = c_.experts.intermediate_size;
    rows(at_.router, layer.router, 0, c_.experts.count);
    for (std::size_t e = 0; e < layer.experts.size(); ++e) {
      rows(at_.experts[e].gate, layer.experts[e].gate_up, 0, width);
      rows(at_.experts[e].up, layer.experts[e].gate_up, width, width);
      rows(at_.experts[e].down, layer.experts[e].down, 0, c_.hidden_size);
    }
  }

  void rows(std::int64_t offset, model::PackedMatrix& matrix, std::int64_t first,
            std::int64_t count) {
    parameters_.emplace_back(offset, count, matrix.in(), EngineParameter::Rows{&matrix, first});
  }
  void values(std::int64_t offset, model::AlignedBuffer& buffer, std::int64_t first,
              std::int64_t count) {
    parameters_.emplace_back(offset, 1, count, EngineParameter::Values{&buffer, first});
  }

  const model::ModelConfig& c_;
  const model::LayerOffsets& at_;
  std::vector<EngineParameter>& parameters_;
};

}  // namespace

void append_parameters(const model::ModelConfig& config, const model::LayerOffsets& at,
                       LayerWeights& layer, std::vector<EngineParameter>& parameters) {
  LayerParameters(config, at, parameters).append(layer);
}

}  // namespace physarum::rollout
