#include "reference_model.hpp"

#include "physarum/weights/convert.hpp"

#include "physarum/model/hf_directory.hpp"

namespace physarum::training {

ReferenceModel::ReferenceModel(const std::filesystem::path& directory,
                               const model::ModelConfig& config, weights::TransferType type,
                               const parallel::Communicator& trainers)
    : store_(config, model::Gradients::none), transformer_(config, store_) {
  model::load_weights(directory, config, trainers, store_.values());
  weights::round_to_transfer(store_.values(), type);
}

std::vector<float> ReferenceModel::log_probs(const model::PackedBatch& batch, double temperature) {
  model::ForwardOptions options;
  options.temperature = temperature;
  const auto scores = transformer_.forward(batch, options);
  return {scores.log_probs.begin(), scores.log_probs.end()};
}

}  // namespace physarum::training
