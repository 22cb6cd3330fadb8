// What a checkpoint holds of the trainer; docs/formats/checkpoint.md.
#include <array>
#include <string>
#include <utility>

#include "physarum/base/error.hpp"

#include "physarum/model/parameter_layout.hpp"

#include "trainer_impl.hpp"

namespace physarum::training {

namespace {

constexpr const char* weights_prefix = "weights/";
constexpr const char* mean_prefix = "optimizer/mean/";
constexpr const char* square_prefix = "optimizer/square/";

storage::Extent extent_of(const model::TensorPlace& place) {
  return {place.shape.begin(), place.shape.end()};
}

template <class Float>
std::span<Float> tensor_in(std::span<Float> flat, const model::TensorPlace& place) {
  return flat.subspan(static_cast<std::size_t>(place.offset), static_cast<std::size_t>(place.size));
}

void append(Trainer::Bulk& bulk, const std::string& prefix, const model::ParameterLayout& layout,
            std::span<const float> flat) {
  for (const auto& place : layout.tensors()) {
    bulk.datasets.push_back({prefix + place.name, storage::Element::f32, extent_of(place)});
    bulk.memory.push_back(std::as_bytes(tensor_in(flat, place)));
  }
}

void read(const storage::CheckpointReader& checkpoint, const std::string& prefix,
          const model::ParameterLayout& layout, std::span<float> flat) {
  for (const auto& place : layout.tensors())
    checkpoint.read(prefix + place.name, extent_of(place), tensor_in(flat, place));
}

}  // namespace

Trainer::Bulk Trainer::bulk(OptimiserState with) {
  Bulk bulk;
  const auto& layout = impl_->store.layout();
  append(bulk, weights_prefix, layout, masters());
  if (with == OptimiserState::none) return bulk;
  append(bulk, mean_prefix, layout, impl_->updater.adam().mean());
  append(bulk, square_prefix, layout, impl_->updater.adam().square());
  return bulk;
}

void Trainer::write_state(storage::File& file) const {
  file.create_group("optimizer");
  file.set_attribute("optimizer", "updates", impl_->updater.steps());
  file.set_attribute("optimizer", "skipped_steps", impl_->skipped_steps);
}

base::Digest Trainer::state_checksum() const {
  const AdamW& adam = std::as_const(impl_->updater).adam();
  std::vector<base::Digest> parts;
  for (const auto flat : {masters(), adam.mean(), adam.square()})
    parts.push_back(base::digest128(std::as_bytes(flat)));
  const std::array counts{impl_->updater.steps(), impl_->skipped_steps};
  parts.push_back(base::digest128(std::as_bytes(std::span(counts))));
  return base::digest128(std::as_bytes(std::span(parts)));
}

void Trainer::restore(OptimiserMemory memory) {
  impl_->updater.adam().restore(std::move(memory.mean), std::move(memory.square), memory.updates);
  impl_->skipped_steps = memory.skipped_steps;
}

OptimiserMemory read_optimiser(const storage::CheckpointReader& checkpoint,
                               const model::ModelConfig& model) {
  const model::ParameterLayout layout(model);
  OptimiserMemory memory;
  memory.mean.resize(static_cast<std::size_t>(layout.total()));
  memory.square.resize(static_cast<std::size_t>(layout.total()));
  read(checkpoint, mean_prefix, layout, memory.mean);
  read(checkpoint, square_prefix, layout, memory.square);
  memory.updates = checkpoint.file().integer_attribute("optimizer", "updates");
  memory.skipped_steps = checkpoint.file().integer_attribute("optimizer", "skipped_steps");
  if (memory.updates < 0 || memory.skipped_steps < 0) {
    throw base::UserError("a count is negative", checkpoint.path().string() + ":optimizer",
                          "load another checkpoint");
  }
  return memory;
}

void read_weights(const storage::CheckpointReader& checkpoint, const model::ModelConfig& model,
                  std::span<float> flat) {
  const model::ParameterLayout layout(model);
  read(checkpoint, weights_prefix, layout, flat);
  std::size_t found = 0;
  for (const auto& place : checkpoint.manifest().bulk)
    if (place.dataset.name.starts_with(weights_prefix)) ++found;
  if (found != layout.tensors().size()) {
    throw base::UserError("the checkpoint has " + std::to_string(found) + " tensors, the model " +
                              std::to_string(layout.tensors().size()),
                          checkpoint.path().string(), "load a checkpoint of this model");
  }
}

}  // namespace physarum::training
