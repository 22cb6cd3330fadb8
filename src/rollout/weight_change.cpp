#include "weight_change.hpp"

#include <algorithm>

#include "physarum/rollout/options.hpp"

namespace physarum::rollout {
namespace {

/// One element in so many may differ. More would take longer to set one by one than to take
/// everything, and memory: eight bytes each, a sixteenth of what is kept in bf16.
constexpr std::int64_t elements_a_difference = 64;

/// Places have 32 bits; a matrix has up to one panel more than its rows.
constexpr std::int64_t largest_parameter = std::int64_t{1} << 31;

std::int64_t elements_of(std::span<const EngineParameter> parameters) {
  std::int64_t elements = 0;
  for (const EngineParameter& parameter : parameters)
    elements += parameter.rows() * parameter.columns();
  return elements;
}

/// Differences that are worth remembering.
std::int64_t most_differences(std::int64_t elements) { return elements / elements_a_difference; }

}  // namespace

/// One more tells that there are too many.
std::int64_t weight_change_bytes(std::int64_t elements) {
  return (most_differences(elements) + 1) * static_cast<std::int64_t>(sizeof(KeptElement));
}

void WeightChange::forget() {
  present_ = {};
  target_ = {};
  parameter_ = 0;
  row_ = 0;
  too_many_ = false;
  different_.clear();
  ends_.clear();
}

bool WeightChange::find(std::span<const EngineParameter> parameters, base::WeightVersion present,
                        const weights::Image& image, std::int64_t budget_bytes) {
  if (!is_for(present, image)) {
    forget();
    present_ = present;
    target_ = image.version();
    most_ = static_cast<std::size_t>(most_differences(elements_of(parameters)));
    different_.reserve(most_ + 1);  // memory is taken where it is written, and never twice
  }
  const auto width = weights::element_bytes(image.catalogue().type());
  while (parameter_ < parameters.size() && !too_many_ && budget_bytes > 0) {
    const EngineParameter& parameter = parameters[parameter_];
    too_many_ = parameter.rows() * parameter.columns() > largest_parameter;
    const auto row_bytes = parameter.columns() * width;
    // Whole strips, so that each is gone through once.
    constexpr auto strip = model::gemm_strip_columns;
    const auto wanted = (budget_bytes / row_bytes + strip) / strip * strip;
    const auto rows = std::min(parameter.rows() - row_, wanted);
    parameter.find_different(image, row_, rows, most_, different_);
    too_many_ = too_many_ || different_.size() > most_;
    budget_bytes -= rows * row_bytes;
    row_ += rows;
    if (row_ < parameter.rows()) continue;
    ends_.push_back(different_.size());
    ++parameter_;
    row_ = 0;
  }
  return too_many_ || parameter_ == parameters.size();
}

bool WeightChange::set(std::span<const EngineParameter> parameters, base::WeightVersion present,
                       const weights::Image& image) {
  const bool known = is_for(present, image) && !too_many_ && parameter_ == parameters.size();
  if (known) {
    const std::span<const KeptElement> all(different_);
    std::size_t begin = 0;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      parameters[i].set(all.subspan(begin, ends_[i] - begin));
      begin = ends_[i];
    }
  }
  forget();
  return known;
}

}  // namespace physarum::rollout
