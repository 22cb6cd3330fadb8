#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "physarum/weights/image.hpp"

#include "physarum/model/aligned_buffer.hpp"
#include "physarum/model/config.hpp"
#include "physarum/model/gemm.hpp"
#include "physarum/model/parameter_layout.hpp"

#include "engine_parameter.hpp"
#include "weight_change.hpp"

namespace physarum::rollout {

/// One expert's weights.
struct ExpertWeights {
  model::PackedMatrix gate_up;
  model::PackedMatrix down;
};

/// One block's weights, matrices as they came (fp32 or bf16), all else in fp32; matrices with the
/// same input are one. What the model has not is empty.
struct LayerWeights {
  model::AlignedBuffer input_norm;
  model::PackedMatrix query_key_value;
  model::AlignedBuffer query_key_value_bias;
  model::AlignedBuffer query_norm;  ///< [head_dim]
  model::AlignedBuffer key_norm;    ///< [head_dim]
  model::PackedMatrix output;
  model::AlignedBuffer output_bias;
  model::AlignedBuffer attention_norm;
  model::PackedMatrix gate_up;
  model::AlignedBuffer gate_up_bias;
  model::PackedMatrix down;
  model::AlignedBuffer down_bias;
  // Instead of gate_up and down in a layer with experts.
  model::PackedMatrix router;
  std::vector<ExpertWeights> experts;

  [[nodiscard]] bool has_experts() const { return !experts.empty(); }
};

/// A model's weights as the engine multiplies by them. Matrices that came as bf16 are kept as bf16:
/// half the memory to read for a token, the same results. Loading takes no memory after the first
/// time, and beside the weights themselves hardly any.
class EngineWeights {
 public:
  explicit EngineWeights(const model::ModelConfig& config);
  EngineWeights(const EngineWeights&) = delete;  // its parameters point into it
  EngineWeights& operator=(const EngineWeights&) = delete;
  EngineWeights(EngineWeights&&) = delete;
  EngineWeights& operator=(EngineWeights&&) = delete;
  ~EngineWeights() = default;

  /// Contract: the image has the catalogue of tensor_specs(config), always the same type, and a
  /// version.
  /// Quick if prepare() has compared all of this image.
  void load(const weights::Image& image);
  /// Compares about so many bytes more of an image that will be loaded next with the weights in
  /// use, which stay as they are. True when there is nothing left to prepare.
  bool prepare(const weights::Image& image, std::int64_t budget_bytes);

  /// The first tensor and element of an image that the weights, as they are multiplied by, do not
  /// have bit for bit; nothing if they have all. Seconds for a large model.
  [[nodiscard]] std::optional<std::string> difference(const weights::Image& image) const;

  [[nodiscard]] base::WeightVersion version() const { return version_; }
  [[nodiscard]] const LayerWeights& layer(std::int64_t index) const {
    return layers_[static_cast<std::size_t>(index)];
  }
  /// A token's row; `to`: [hidden].
  void embed(base::TokenId token, std::span<float> to) const;
  [[nodiscard]] const float* final_norm() const { return final_norm_.data(); }
  [[nodiscard]] const model::PackedMatrix& head() const { return head_; }

 private:
  void make(weights::TransferType type);

  model::ModelConfig config_;
  model::ModelOffsets offsets_;
  std::vector<LayerWeights> layers_;
  weights::TransferType type_ = weights::TransferType::bf16;
  std::vector<std::byte> embedding_;  ///< [vocabulary, hidden] of type_
  model::AlignedBuffer final_norm_;
  model::PackedMatrix head_;
  model::AlignedBuffer scratch_;  ///< a piece of a matrix on its way
  std::vector<EngineParameter> parameters_;
  WeightChange change_;
  base::WeightVersion version_;
};

}  // namespace physarum::rollout
