#include <algorithm>

#include "physarum/base/contracts.hpp"
#include "physarum/base/narrow.hpp"
#include "physarum/base/philox.hpp"

#include "physarum/model/parameter_store.hpp"

namespace physarum::model {

namespace {
void fill_normal(const base::RandomStream& stream, std::uint64_t tensor, double deviation,
                 std::span<float> values) {
  // Element e is draw (tensor, e); a tensor of 2^32 elements or more goes on with the next item,
  // 2^16 items further for each tensor, so no two tensors share a draw.
  const std::uint64_t first_item = tensor << 16;
  for (std::size_t e = 0; e < values.size(); ++e) {
    const auto item = first_item + (static_cast<std::uint64_t>(e) >> 32);
    values[e] = static_cast<float>(deviation * stream.normal(item, static_cast<std::uint32_t>(e)));
  }
}
}  // namespace

void initialise(const ModelConfig& config, std::uint64_t seed, std::span<float> flat) {
  const ParameterLayout layout(config);
  base::expects(base::narrow<std::int64_t>(flat.size()) == layout.total(),
                "the flat buffer was made for another model");
  std::ranges::fill(flat, 0.0F);
  const base::RandomStream stream(seed, base::StreamKind::initialisation);
  for (std::size_t i = 0; i < layout.tensors().size(); ++i) {
    const auto& tensor = layout.tensors()[i];
    const auto values = flat.subspan(static_cast<std::size_t>(tensor.offset),
                                     static_cast<std::size_t>(tensor.size));
    const bool matrix = tensor.shape.size() > 1;
    const bool norm = tensor.name.ends_with("norm.weight");
    if (matrix) fill_normal(stream, i, config.initializer_range, values);
    if (norm) std::ranges::fill(values, 1.0F);
  }
}

}  // namespace physarum::model
