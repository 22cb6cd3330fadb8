#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "physarum/base/hash.hpp"
#include "physarum/base/metrics.hpp"

#include "physarum/parallel/communicator.hpp"

#include "physarum/storage/checkpoint.hpp"
#include "physarum/storage/file_system.hpp"

#include "physarum/sample/batch.hpp"

#include "physarum/weights/catalogue.hpp"
#include "physarum/weights/change_log.hpp"

#include "physarum/model/config.hpp"

#include "physarum/training/options.hpp"

namespace physarum::training {

struct TrainerSetup {
  TrainingOptions options;
  model::ModelConfig model;
  /// What engines compute with: after each step the trainer's own forward pass uses the masters
  /// rounded to it.
  weights::TransferType transfer_type = weights::TransferType::bf16;
  double temperature = 1.0;      ///< of the rollout: logits are divided by it here too
  std::int64_t total_steps = 1;  ///< optimiser steps of the whole run, for the schedule
  /// Where the optimiser notes what it changes, for those who publish; outlives the trainer.
  weights::ChangeLog* changes = nullptr;
};

enum class OptimiserState { none, saved };

/// The optimiser's state in a checkpoint; moments laid out as model::ParameterLayout.
struct OptimiserMemory {
  std::vector<float> mean;
  std::vector<float> square;
  std::int64_t updates = 0;
  std::int64_t skipped_steps = 0;
};
/// This rank alone. Throws DamagedCheckpoint; UserError if the checkpoint has none.
[[nodiscard]] OptimiserMemory read_optimiser(const storage::CheckpointReader& checkpoint,
                                             const model::ModelConfig& model);

/// Weights of a checkpoint into `flat`, laid out as model::ParameterLayout. This rank alone. Throws
/// DamagedCheckpoint, UserError.
void read_weights(const storage::CheckpointReader& checkpoint, const model::ModelConfig& model,
                  std::span<float> flat);

/// Metrics of one rollout step under slime's names ("train/loss", "train/grad_norm", "train/lr",
/// "rollout/advantages", "perf/actor_train_time" ...); the same on all ranks except perf/*.
struct StepMetrics {
  base::Scalars scalars;                       ///< means over the optimiser steps
  std::vector<base::Scalars> optimiser_steps;  ///< train/* of each one
};

/// Learns from batches: data parallel over the ranks of one communicator, each with all weights.
/// Same setup, weights and batches: the same bits on every rank and in every run with this number
/// of ranks; other numbers of ranks and other micro-batches differ by rounding only.
class Trainer {
 public:
  /// Collective over `trainers`, which must outlive the trainer; its rank is the data-parallel
  /// rank. `initial`: all weights, laid out as model::ParameterLayout, the same on all ranks.
  /// Loads the reference model if the options name one. All ranks throw UserError together if the
  /// options are wrong or the reference cannot be read.
  Trainer(const TrainerSetup& setup, std::span<const float> initial,
          const parallel::Communicator& trainers);
  ~Trainer();
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// Collective. All optimiser steps of one rollout batch, whose plan is for this many
  /// data-parallel ranks. A step whose gradient is not finite changes nothing and is counted
  /// ("train/skipped_steps", since the start). Waits for the other trainers as the communicator's
  /// patience allows.
  StepMetrics step(const sample::Batch& batch);

  /// Log-probs of the trained tokens of one sample, by the weights as they are. This rank alone.
  [[nodiscard]] std::vector<float> log_probs(const sample::Sample& sample);

  /// The weights that the next forward pass uses, rounded to the transfer type: what is published.
  /// Laid out as model::ParameterLayout, gaps zero; valid until the trainer goes.
  [[nodiscard]] std::span<const float> values() const;
  /// The fp32 weights that the optimiser changes.
  [[nodiscard]] std::span<const float> masters() const;
  /// XXH3-128 of the masters; the same on all ranks.
  [[nodiscard]] base::Digest checksum() const;
  /// XXH3-128 of all that a checkpoint holds of the trainer: masters, moments, counts. The same on
  /// all ranks.
  [[nodiscard]] base::Digest state_checksum() const;
  /// Optimiser steps that changed the weights.
  [[nodiscard]] std::int64_t updates() const;

  /// What a checkpoint holds of the trainer: fp32 masters as weights/<name> and, if asked, the
  /// optimiser's moments as optimizer/mean/<name> and optimizer/square/<name>, by Hugging Face
  /// names and in whole shapes, so that any number of ranks and any layout can read them.
  /// `memory[i]` are the bytes of `datasets[i]`, alive and constant until the next step().
  struct Bulk {
    std::vector<storage::BulkDataset> datasets;
    std::vector<std::span<const std::byte>> memory;
  };
  [[nodiscard]] Bulk bulk(OptimiserState with);
  /// The small rest: counts, under "optimizer/". One rank has created the file.
  void write_state(storage::File& file) const;
  /// Goes on with the optimiser of a checkpoint, whose weights were the constructor's `initial`.
  /// All ranks, before the first step().
  void restore(OptimiserMemory memory);

  /// One rank calls it. Writes the fp32 masters as a directory that transformers loads; see
  /// model::save_hf().
  void save_hf(storage::FileSystem& files, const std::filesystem::path& directory,
               const std::filesystem::path& tokenizer_directory = {}) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace physarum::training
