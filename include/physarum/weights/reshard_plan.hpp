#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "physarum/weights/catalogue.hpp"

namespace physarum::weights {

/// What a model's config.json says that decides how its tensors are split.
struct SplitFacts {
  std::int64_t layers = 0;
  std::int64_t attention_heads = 0;
  std::int64_t key_value_heads = 0;  ///< divides attention_heads
  std::int64_t experts = 0;          ///< 0: the model has none
  bool tied_head = false;            ///< the last stage holds the embedding too
};

/// How the trainer's ranks share the model. Rank = (stage * data + replica) * tensor + tensor rank.
/// The tensor * data ranks of a stage share the experts in another way: there
/// rank = (replica * expert + expert rank) * expert_tensor + expert tensor rank.
struct TrainerGrid {
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t data = 1;  ///< context parallel ranks are replicas too
  std::int64_t expert = 1;
  std::int64_t expert_tensor = 1;  ///< ranks that share one expert
  /// A rank's rows of the vocabulary are padded to a multiple of it.
  std::int64_t vocabulary_multiple = 128;

  [[nodiscard]] std::int64_t stage_ranks() const { return tensor * data; }
  [[nodiscard]] std::int64_t ranks() const { return stage_ranks() * pipeline; }
  friend bool operator==(const TrainerGrid&, const TrainerGrid&) = default;
};

/// How an engine's ranks share the model: all layers on each, every matrix split. Engines are
/// alike, so one of them stands for all.
struct EngineGrid {
  std::int64_t tensor = 1;
  std::int64_t vocabulary_multiple = 64;
};

/// `count` runs of `length` bytes, the i-th from offset + i * stride on.
struct StridedRange {
  std::int64_t offset = 0;
  std::int64_t length = 0;
  std::int64_t count = 0;
  std::int64_t stride = 0;
  [[nodiscard]] std::int64_t bytes() const { return length * count; }
  friend bool operator==(const StridedRange&, const StridedRange&) = default;
};

/// A part of one tensor: its bytes in the weight image, and where a rank that holds it has them:
/// the i-th run from shard_offset + i * shard_stride on.
struct ShardSlice {
  std::int64_t tensor = 0;  ///< index in the catalogue
  StridedRange image;
  std::int64_t shard_offset = 0;
  std::int64_t shard_stride = 0;
  friend bool operator==(const ShardSlice&, const ShardSlice&) = default;
};

/// What one rank holds: slices in the order of the catalogue, each tensor's from a multiple of
/// Catalogue::alignment_elements on; gaps and rows that pad the vocabulary hold zeros.
struct Shard {
  std::vector<ShardSlice> slices;
  std::int64_t bytes = 0;  ///< gaps and padding included
};

/// Who puts which bytes of the weight image and who gets which, from how the trainer and the
/// engines split the model. A pure function of its arguments, so all ranks compute the same.
///
/// Every byte of every tensor is put by one trainer rank; of the ranks that hold the same bytes the
/// one with the least to put. Layer l of L is on the stage s of P with L*s/P <= l < L*(s+1)/P
/// (rounded down), and in the same way rows, heads and experts are shared if they do not divide
/// evenly. A rank has the key-value heads that its query heads use: with more ranks than such heads
/// several ranks have one.
class ReshardPlan {
 public:
  /// Throws UserError: an unknown tensor (named), a tensor that does not fit the facts (named), a
  /// grid with more ranks than there is to share, or one whose experts do not fit its ranks.
  ReshardPlan(const Catalogue& catalogue, const SplitFacts& facts, const TrainerGrid& trainer,
              const EngineGrid& engine);

  [[nodiscard]] const Shard& trainer_shard(std::int64_t rank) const;
  /// What the rank puts, of what it holds; ascending in the image.
  [[nodiscard]] std::span<const ShardSlice> puts(std::int64_t rank) const;
  /// What a rank of each engine holds and gets.
  [[nodiscard]] const Shard& engine_shard(std::int64_t tensor_rank) const;
  [[nodiscard]] std::int64_t trainer_ranks() const { return std::ssize(trainer_); }
  [[nodiscard]] std::int64_t engine_ranks() const { return std::ssize(engine_); }

 private:
  std::vector<Shard> trainer_;
  std::vector<std::vector<ShardSlice>> puts_;
  std::vector<Shard> engine_;
};

/// Bytes of the slices together.
[[nodiscard]] std::int64_t bytes_of(std::span<const ShardSlice> slices);

}  // namespace physarum::weights
