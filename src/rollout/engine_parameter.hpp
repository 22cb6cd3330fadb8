#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "physarum/weights/image.hpp"

#include "physarum/model/aligned_buffer.hpp"
#include "physarum/model/config.hpp"
#include "physarum/model/gemm.hpp"
#include "physarum/model/parameter_layout.hpp"

namespace physarum::rollout {

struct LayerWeights;

/// An element as an engine keeps it: where in its parameter's memory, and its bits there.
using KeptElement = model::StoredValue;

/// A parameter of the model as an engine keeps it, and where in an image it comes from: some rows
/// of a packed matrix, some values in fp32, or a table as it came. What it points at outlives it.
class EngineParameter {
 public:
  using Table = std::vector<std::byte>;
  struct Rows {
    model::PackedMatrix* matrix;
    std::int64_t first;
  };
  struct Values {
    model::AlignedBuffer* buffer;
    std::int64_t first;
  };

  /// [rows, columns] elements from `offset` on, counted in elements of the image.
  EngineParameter(std::int64_t offset, std::int64_t rows, std::int64_t columns,
                  std::variant<Rows, Values, Table*> kept)
      : offset_(offset), rows_(rows), columns_(columns), kept_(kept) {}

  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t columns() const { return columns_; }
  [[nodiscard]] std::int64_t offset() const { return offset_; }

  /// All elements from the image. `scratch` is memory for a piece on its way.
  void take(const weights::Image& image, model::AlignedBuffer& scratch) const;

  /// Appends the elements of rows [first, first + count) whose bits are others in the image, as
  /// they would be kept; ends when there are more than `most` in all.
  void find_different(const weights::Image& image, std::int64_t first, std::int64_t count,
                      std::size_t most, std::vector<KeptElement>& different) const;
  void set(std::span<const KeptElement> elements) const;
  /// The element of the image that is kept at a place.
  [[nodiscard]] std::int64_t offset_of(std::uint32_t place) const;

 private:
  [[nodiscard]] std::span<const std::byte> bytes_of(const weights::Image& image, std::int64_t row,
                                                    std::int64_t rows) const;
  std::int64_t offset_;
  std::int64_t rows_;
  std::int64_t columns_;
  std::variant<Rows, Values, Table*> kept_;
};

/// The parameters of one layer.
void append_parameters(const model::ModelConfig& config, const model::LayerOffsets& at,
                       LayerWeights& layer, std::vector<EngineParameter>& parameters);

}  // namespace physarum::rollout
