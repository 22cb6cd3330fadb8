#include "physarum/weights/reshard_plan.hpp"

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"

#include "put_owners.hpp"
#include "shard_builder.hpp"
#include "split_rules.hpp"

namespace physarum::weights {
namespace {

[[noreturn]] void refuse(const std::string& what, const char* flag, const char* mend) {
  throw base::UserError(what, flag, mend);
}

/// `parts` of `what`, of which there are `count`.
void expect_enough(std::int64_t count, std::int64_t parts, const std::string& what,
                   const char* flag) {
  if (parts >= 1 && parts <= count) return;
  refuse(std::to_string(count) + " " + what + " cannot be shared in " + std::to_string(parts) +
             " parts",
         flag, "give a smaller number");
}

void check(const SplitFacts& facts, const TrainerGrid& trainer, const EngineGrid& engine) {
  if (facts.attention_heads < 1 || facts.key_value_heads < 1 ||
      facts.attention_heads % facts.key_value_heads != 0) {
    refuse("the attention heads are no multiple of the key-value heads", "config.json",
           "correct the model's configuration");
  }
  const std::int64_t heads = facts.attention_heads;
  expect_enough(heads, trainer.tensor, "attention heads", "--tensor-model-parallel-size");
  expect_enough(heads, engine.tensor, "attention heads", "--rollout-num-gpus-per-engine");
  expect_enough(facts.layers, trainer.pipeline, "layers", "--pipeline-model-parallel-size");
  if (trainer.expert > 1) {
    expect_enough(facts.experts, trainer.expert, "experts", "--expert-model-parallel-size");
  }
  base::expects(trainer.data >= 1 && trainer.expert >= 1 && trainer.expert_tensor >= 1 &&
                    trainer.vocabulary_multiple >= 1 && engine.vocabulary_multiple >= 1,
                "sizes of a grid are at least 1");
  const std::int64_t sharing = trainer.expert * trainer.expert_tensor;
  if (trainer.stage_ranks() % sharing != 0) {
    refuse("the " + std::to_string(trainer.stage_ranks()) +
               " ranks of a pipeline stage cannot share the experts in groups of " +
               std::to_string(sharing),
           "--expert-model-parallel-size",
           "its product with --expert-tensor-parallel-size must divide them");
  }
}

/// The part that an index falls into, if even_part() shares `extent` in `count` parts.
std::int64_t even_part_with(std::int64_t extent, std::int64_t index, std::int64_t count) {
  std::int64_t part = index * count / extent;
  while (even_part(extent, part, count).end <= index) ++part;
  return part;
}

/// Fills the trainer's shards and gives out what is put.
class TrainerPlan {
 public:
  TrainerPlan(const Catalogue& catalogue, const SplitFacts& facts, const TrainerGrid& grid,
              std::vector<Shard>& shards)
      : builder_(catalogue, facts, grid.vocabulary_multiple),
        facts_(facts),
        grid_(grid),
        shards_(shards),
        owners_(grid.ranks()) {
    shards_.resize(static_cast<std::size_t>(grid.ranks()));
  }

  void add(std::int64_t tensor, const SplitRule& rule) {
    held_.clear();
    for (std::int64_t stage = 0; stage < grid_.pipeline; ++stage) {
      if (on_stage(rule, stage)) add_stage(tensor, rule, stage);
    }
    owners_.give_out(held_);
  }
  std::vector<std::vector<ShardSlice>> finish() { return owners_.finish(); }

 private:
  [[nodiscard]] bool on_stage(const SplitRule& rule, std::int64_t stage) const {
    const bool last = stage == grid_.pipeline - 1;
    switch (rule.place) {
      case SplitRule::Place::first_stage:
        return stage == 0 || (last && facts_.tied_head);
      case SplitRule::Place::last_stage:
        return last;
      case SplitRule::Place::layer:
        break;
    }
    return stage == even_part_with(facts_.layers, rule.layer, grid_.pipeline);
  }

  void add_stage(std::int64_t tensor, const SplitRule& rule, std::int64_t stage) {
    const std::int64_t first = stage * grid_.stage_ranks();
    for (std::int64_t rank = 0; rank < grid_.stage_ranks(); ++rank) {
      if (rule.expert < 0) {
        add_rank(tensor, rule, first + rank, rank % grid_.tensor, grid_.tensor);
      } else if (rank / grid_.expert_tensor % grid_.expert ==
                 even_part_with(facts_.experts, rule.expert, grid_.expert)) {
        add_rank(tensor, rule, first + rank, rank % grid_.expert_tensor, grid_.expert_tensor);
      }
    }
  }

  void add_rank(std::int64_t tensor, const SplitRule& rule, std::int64_t rank, std::int64_t part,
                std::int64_t parts) {
    Shard& shard = shards_[static_cast<std::size_t>(rank)];
    const std::size_t before = shard.slices.size();
    builder_.add(tensor, rule, part, parts, shard);
    for (std::size_t i = before; i < shard.slices.size(); ++i) {
      held_.push_back({rank, shard.slices[i]});
    }
  }

  const ShardBuilder builder_;
  const SplitFacts& facts_;
  const TrainerGrid& grid_;
  std::vector<Shard>& shards_;
  PutOwners owners_;
  std::vector<PutOwners::Held> held_;  // of one tensor, by any rank
};

}  // namespace

ReshardPlan::ReshardPlan(const Catalogue& catalogue, const SplitFacts& facts,
                         const TrainerGrid& trainer, const EngineGrid& engine) {
  check(facts, trainer, engine);
  engine_.resize(static_cast<std::size_t>(engine.tensor));
  TrainerPlan plan(catalogue, facts, trainer, trainer_);
  const ShardBuilder builder(catalogue, facts, engine.vocabulary_multiple);
  for (std::int64_t tensor = 0; tensor < catalogue.size(); ++tensor) {
    const SplitRule rule = split_rule(catalogue.spec(tensor), facts);
    plan.add(tensor, rule);
    for (std::int64_t rank = 0; rank < engine.tensor; ++rank) {
      builder.add(tensor, rule, rank, engine.tensor, engine_[static_cast<std::size_t>(rank)]);
    }
  }
  puts_ = plan.finish();
}

const Shard& ReshardPlan::trainer_shard(std::int64_t rank) const {
  base::expects(rank >= 0 && rank < trainer_ranks(), "a rank of the trainer's grid");
  return trainer_[static_cast<std::size_t>(rank)];
}

std::span<const ShardSlice> ReshardPlan::puts(std::int64_t rank) const {
  base::expects(rank >= 0 && rank < trainer_ranks(), "a rank of the trainer's grid");
  return puts_[static_cast<std::size_t>(rank)];
}

const Shard& ReshardPlan::engine_shard(std::int64_t tensor_rank) const {
  base::expects(tensor_rank >= 0 && tensor_rank < engine_ranks(), "a rank of an engine");
  return engine_[static_cast<std::size_t>(tensor_rank)];
}

std::int64_t bytes_of(std::span<const ShardSlice> slices) {
  std::int64_t bytes = 0;
  for (const ShardSlice& slice : slices) bytes += slice.image.bytes();
  return bytes;
}

}  // namespace physarum::weights
