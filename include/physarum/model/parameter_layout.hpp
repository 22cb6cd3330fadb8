#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "physarum/weights/catalogue.hpp"

#include "physarum/model/config.hpp"

namespace physarum::model {

/// Every parameter of a model under its Hugging Face name, in the one order that flat buffers,
/// weight images and optimiser state use. Projections that are multiplied together (query, key,
/// value; gate, up) are neighbours. Each expert's matrices are tensors of their own. Matrices are
/// [out, in], row-major, as Hugging Face stores them.
[[nodiscard]] std::vector<weights::TensorSpec> tensor_specs(const ModelConfig& config);

/// Where one tensor lies in a flat buffer.
struct TensorPlace {
  std::string name;
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0;  ///< in elements
  std::int64_t size = 0;    ///< in elements
};

/// Places of all tensors in a flat buffer of `total()` elements; gaps between tensors hold zeros.
/// They are weights::Catalogue's places, so an offset counted in elements is the same in a flat
/// fp32 buffer and in an fp32 or bf16 weight image.
class ParameterLayout {
 public:
  explicit ParameterLayout(const ModelConfig& config);

  [[nodiscard]] const std::vector<TensorPlace>& tensors() const { return tensors_; }
  /// Elements of a flat buffer, gaps included.
  [[nodiscard]] std::int64_t total() const { return total_; }
  /// Index into tensors(), or -1.
  [[nodiscard]] std::int64_t find(std::string_view name) const;

 private:
  std::vector<TensorPlace> tensors_;
  std::map<std::string, std::int64_t, std::less<>> index_;
  std::int64_t total_ = 0;
};

/// Offsets (in elements) of one expert's tensors in a flat buffer.
struct ExpertOffsets {
  std::int64_t gate = -1;  ///< [expert intermediate, hidden]
  std::int64_t up = -1;    ///< [expert intermediate, hidden]
  std::int64_t down = -1;  ///< [hidden, expert intermediate]
};

/// Offsets (in elements) of one block's tensors in a flat buffer; -1: the model has no such tensor.
struct LayerOffsets {
  std::int64_t input_norm = -1;      ///< [hidden]
  std::int64_t query = -1;           ///< [query_width, hidden]
  std::int64_t key = -1;             ///< [key_value_width, hidden]
  std::int64_t value = -1;           ///< [key_value_width, hidden]
  std::int64_t query_bias = -1;      ///< [query_width]
  std::int64_t key_bias = -1;        ///< [key_value_width]
  std::int64_t value_bias = -1;      ///< [key_value_width]
  std::int64_t query_norm = -1;      ///< [head_dim]
  std::int64_t key_norm = -1;        ///< [head_dim]
  std::int64_t output = -1;          ///< [hidden, query_width]
  std::int64_t output_bias = -1;     ///< [hidden]
  std::int64_t attention_norm = -1;  ///< [hidden], before the feed-forward part
  std::int64_t gate = -1;            ///< [intermediate, hidden]
  std::int64_t up = -1;              ///< [intermediate, hidden]
  std::int64_t down = -1;            ///< [hidden, intermediate]
  std::int64_t gate_bias = -1;       ///< [intermediate]
  std::int64_t up_bias = -1;         ///< [intermediate]
  std::int64_t down_bias = -1;       ///< [hidden]
  // Instead of gate, up and down in a layer with experts:
  std::int64_t router = -1;            ///< [experts, hidden]
  std::vector<ExpertOffsets> experts;  ///< by number
};

/// Offsets of all tensors by role: what a forward pass needs.
struct ModelOffsets {
  std::int64_t embedding = -1;  ///< [vocab, hidden]
  std::vector<LayerOffsets> layers;
  std::int64_t final_norm = -1;  ///< [hidden]
  std::int64_t head = -1;        ///< [vocab, hidden]; the embedding's offset if tied
};
[[nodiscard]] ModelOffsets model_offsets(const ModelConfig& config, const ParameterLayout& layout);

}  // namespace physarum::model
