#include "weight_updater.hpp"

#include <algorithm>
#include <vector>

#include "physarum/base/contracts.hpp"

#include "physarum/weights/convert.hpp"

#include "gradient_norm.hpp"

namespace physarum::training {
namespace {

std::vector<UpdateRange> ranges_of(const model::ParameterLayout& layout) {
  std::vector<UpdateRange> ranges;
  for (const auto& tensor : layout.tensors()) {
    ranges.push_back({tensor.offset, tensor.offset + tensor.size,
                      tensor.shape.size() >= 2 ? Decay::yes : Decay::no});
  }
  return ranges;
}

}  // namespace

WeightUpdater::WeightUpdater(const OptimiserOptions& options, std::int64_t total_steps,
                             weights::TransferType type, model::ParameterStore& store,
                             std::span<const float> initial, weights::ChangeLog* changes)
    : options_(options),
      type_(type),
      store_(store),
      masters_(store.layout().total()),
      rate_(options, total_steps),
      adam_(options, store.layout().total(), ranges_of(store.layout())),
      changes_(changes) {
  base::expects(initial.size() == masters_.span().size(), "initial weights have the model's size");
  std::ranges::copy(initial, masters_.data());
  restate({0, store.layout().total()});
}

UpdateResult WeightUpdater::update(double norm) {
  const UpdateResult result{norm, lr()};
  adam_.update(masters_.span(), store_.gradients(), clip_scale(norm, options_.clip_grad), result.lr,
               [this](std::int64_t begin, std::int64_t end) {
                 restate({begin, end});
               });
  return result;
}

void WeightUpdater::restate(weights::Range elements) {
  if (changes_ != nullptr) return changes_->update(store_.values(), masters_.span(), elements);
  const auto first = static_cast<std::size_t>(elements.begin);
  const auto count = static_cast<std::size_t>(elements.size());
  weights::round_to_transfer(masters_.span().subspan(first, count), type_,
                             store_.values().subspan(first, count));
}

}  // namespace physarum::training
