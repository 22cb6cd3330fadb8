#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "physarum/model/aligned_buffer.hpp"
#include "physarum/model/config.hpp"
#include "physarum/model/parameter_layout.hpp"

namespace physarum::model {

enum class Gradients { none, allocate };

/// The compute parameters of one model, fp32, in one flat buffer, and beside it the gradients in
/// the same layout. Owned by one rank; move-only; starts as zeros.
class ParameterStore {
 public:
  ParameterStore(const ModelConfig& config, Gradients gradients);

  [[nodiscard]] const ParameterLayout& layout() const { return layout_; }

  /// All values, gaps included; layout().total() elements, 64-byte aligned.
  [[nodiscard]] std::span<float> values() { return values_.span(); }
  [[nodiscard]] std::span<const float> values() const { return values_.span(); }
  /// All gradients, gaps included (gaps stay zero); empty with Gradients::none.
  [[nodiscard]] std::span<float> gradients() { return gradients_.span(); }
  [[nodiscard]] std::span<const float> gradients() const { return gradients_.span(); }

  /// One tensor's elements; `index` as in layout().tensors().
  [[nodiscard]] std::span<float> values(std::int64_t index);
  [[nodiscard]] std::span<const float> values(std::int64_t index) const;
  [[nodiscard]] std::span<float> gradients(std::int64_t index);
  [[nodiscard]] std::span<const float> gradients(std::int64_t index) const;

  void zero_gradients();

 private:
  ParameterLayout layout_;
  AlignedBuffer values_;
  AlignedBuffer gradients_;
};

/// Random weights: matrices from a normal distribution with deviation initializer_range, norm
/// weights 1, biases 0. A pure function of (config, seed): the same bits on every rank.
/// `flat` has ParameterLayout(config).total() elements.
void initialise(const ModelConfig& config, std::uint64_t seed, std::span<float> flat);

}  // namespace physarum::model
