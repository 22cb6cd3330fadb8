#include "physarum/model/parameter_store.hpp"

#include <algorithm>

#include "physarum/base/contracts.hpp"

namespace physarum::model {

namespace {
template <class T>
std::span<T> tensor_of(std::span<T> flat, const ParameterLayout& layout, std::int64_t index) {
  base::expects(!flat.empty(), "this store has no gradients");
  const auto& place = layout.tensors().at(static_cast<std::size_t>(index));
  return flat.subspan(static_cast<std::size_t>(place.offset), static_cast<std::size_t>(place.size));
}
}  // namespace

ParameterStore::ParameterStore(const ModelConfig& config, Gradients gradients)
    : layout_(config),
      values_(layout_.total()),
      gradients_(gradients == Gradients::allocate ? layout_.total() : 0) {}

std::span<float> ParameterStore::values(std::int64_t index) {
  return tensor_of(values(), layout_, index);
}

std::span<const float> ParameterStore::values(std::int64_t index) const {
  return tensor_of(values(), layout_, index);
}

std::span<float> ParameterStore::gradients(std::int64_t index) {
  return tensor_of(gradients(), layout_, index);
}

std::span<const float> ParameterStore::gradients(std::int64_t index) const {
  return tensor_of(gradients(), layout_, index);
}

void ParameterStore::zero_gradients() { std::ranges::fill(gradients(), 0.0F); }

}  // namespace physarum::model
