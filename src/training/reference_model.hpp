#pragma once

#include <filesystem>
#include <vector>

#include "physarum/parallel/communicator.hpp"

#include "physarum/weights/catalogue.hpp"

#include "physarum/model/config.hpp"
#include "physarum/model/packed_batch.hpp"
#include "physarum/model/parameter_store.hpp"
#include "physarum/model/transformer.hpp"

namespace physarum::training {

/// A frozen model that only gives log-probs: the base of the KL loss. Its weights are rounded to
/// the transfer type like the trainer's, so that equal weights give a KL of exactly 0.
class ReferenceModel {
 public:
  /// Collective over the trainer ranks. All throw UserError if the Hugging Face directory cannot be
  /// read or holds another model.
  ReferenceModel(const std::filesystem::path& directory, const model::ModelConfig& config,
                 weights::TransferType type, const parallel::Communicator& trainers);

  /// One value per target of the batch.
  [[nodiscard]] std::vector<float> log_probs(const model::PackedBatch& batch, double temperature);

 private:
  model::ParameterStore store_;
  model::Transformer transformer_;
};

}  // namespace physarum::training
