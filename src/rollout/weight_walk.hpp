#pragma once

#include <cstddef>
#include <cstdint>

#include "physarum/model/config.hpp"
#include "physarum/model/parameter_layout.hpp"

namespace physarum::rollout {

/// Goes through all that an engine keeps of a model, and says where in an image it comes from:
///   visitor.values(offset, buffer, first, count)   buffer[first, first + count)
///   visitor.rows(offset, matrix, first, rows)      rows [first, first + rows) of a packed matrix
/// Offsets are elements of an image. `Layer` is LayerWeights, const or not.
template <class Layer, class Visitor>
class WeightWalk {
 public:
  WeightWalk(const model::ModelConfig& config, Visitor& visitor)
      : config_(config), visitor_(visitor) {}

  void layer(const model::LayerOffsets& at, Layer& layer) {
    const auto hidden = config_.hidden_size;
    visitor_.values(at.input_norm, layer.input_norm, 0, hidden);
    attention(at, layer);
    visitor_.rows(at.output, layer.output, 0, hidden);
    if (config_.output_bias) visitor_.values(at.output_bias, layer.output_bias, 0, hidden);
    visitor_.values(at.attention_norm, layer.attention_norm, 0, hidden);
    if (layer.has_experts()) {
      experts(at, layer);
    } else {
      feed_forward(at, layer);
    }
  }

 private:
  void attention(const model::LayerOffsets& at, Layer& layer) {
    const auto queries = config_.query_width();
    const auto keys = config_.key_value_width();
    visitor_.rows(at.query, layer.query_key_value, 0, queries);
    visitor_.rows(at.key, layer.query_key_value, queries, keys);
    visitor_.rows(at.value, layer.query_key_value, queries + keys, keys);
    if (config_.query_key_value_bias) {
      visitor_.values(at.query_bias, layer.query_key_value_bias, 0, queries);
      visitor_.values(at.key_bias, layer.query_key_value_bias, queries, keys);
      visitor_.values(at.value_bias, layer.query_key_value_bias, queries + keys, keys);
    }
    if (config_.query_key_norm) {
      visitor_.values(at.query_norm, layer.query_norm, 0, config_.head_dim);
      visitor_.values(at.key_norm, layer.key_norm, 0, config_.head_dim);
    }
  }

  void feed_forward(const model::LayerOffsets& at, Layer& layer) {
    const auto width = config_.intermediate_size;
    visitor_.rows(at.gate, layer.gate_up, 0, width);
    visitor_.rows(at.up, layer.gate_up, width, width);
    visitor_.rows(at.down, layer.down, 0, config_.hidden_size);
    if (!config_.feed_forward_bias) return;
    visitor_.values(at.gate_bias, layer.gate_up_bias, 0, width);
    visitor_.values(at.up_bias, layer.gate_up_bias, width, width);
    visitor_.values(at.down_bias, layer.down_bias, 0, config_.hidden_size);
  }

  void experts(const model::LayerOffsets& at, Layer& layer) {
    const auto width = config_.experts.intermediate_size;
    visitor_.rows(at.router, layer.router, 0, config_.experts.count);
    for (std::size_t e = 0; e < layer.experts.size(); ++e) {
      visitor_.rows(at.experts[e].gate, layer.experts[e].gate_up, 0, width);
      visitor_.rows(at.experts[e].up, layer.experts[e].gate_up, width, width);
      visitor_.rows(at.experts[e].down, layer.experts[e].down, 0, config_.hidden_size);
    }
  }

  const model::ModelConfig& config_;
  Visitor& visitor_;
};

}  // namespace physarum::rollout
