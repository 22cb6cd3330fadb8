#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "physarum/parallel/communicator.hpp"

namespace physarum::parallel {

/// How the ranks of the world are shared out. Rank order in the world: buffer, trainer, rollout.
struct LayoutOptions {
  std::int64_t buffer_ranks = 1;
  std::optional<std::int64_t> trainer_ranks =
      std::nullopt;  ///< none: 1, or 0 if the command needs no trainer
  std::optional<std::int64_t> rollout_ranks = std::nullopt;  ///< none: what is left
  bool colocate = false;  ///< every rank is trainer and rollout in turns

  // How the model is split over trainer ranks, in Megatron's words, and over those of an engine.
  std::int64_t tensor_model_parallel_size = 1;
  std::int64_t pipeline_model_parallel_size = 1;
  std::int64_t expert_model_parallel_size = 1;
  std::optional<std::int64_t> expert_tensor_parallel_size =
      std::nullopt;  ///< none: as tensor_model_parallel_size
  std::int64_t rollout_num_gpus_per_engine = 1;

  void validate() const;
  /// The first flag by which the model is split over ranks; empty: it is in one piece.
  [[nodiscard]] std::string_view split_flag() const;
  [[nodiscard]] bool splits_model() const { return !split_flag().empty(); }
};

/// What a command cannot do without; set by the command, not by the user.
struct LayoutNeeds {
  int trainer_ranks = 1;
  int rollout_ranks = 1;
};

/// The roles of every rank. A value; no MPI.
class RankLayout {
 public:
  /// Throws UserError (what, the flag, how to mend) if the counts do not fit the world.
  [[nodiscard]] static RankLayout plan(int world_size, const LayoutOptions& options,
                                       const LayoutNeeds& needs = {});

  [[nodiscard]] int world_size() const noexcept { return world_size_; }
  [[nodiscard]] bool colocated() const noexcept { return colocated_; }
  [[nodiscard]] bool is_buffer(int world_rank) const noexcept;
  [[nodiscard]] bool is_trainer(int world_rank) const noexcept;
  [[nodiscard]] bool is_rollout(int world_rank) const noexcept;
  /// World ranks with the role, ascending; the i-th has rank i in the role's communicator.
  [[nodiscard]] std::vector<int> buffer_ranks() const;
  [[nodiscard]] std::vector<int> trainer_ranks() const;
  [[nodiscard]] std::vector<int> rollout_ranks() const;
  /// "buffer", "trainer", "rollout", or "buffer+trainer+rollout" where roles meet.
  [[nodiscard]] std::string role_name(int world_rank) const;
  /// "4 ranks: buffer 0, trainer 1-2, rollout 3".
  [[nodiscard]] std::string describe() const;

 private:
  struct Range {
    int first = 0;
    int count = 0;
    [[nodiscard]] bool contains(int rank) const { return rank >= first && rank < first + count; }
  };
  static RankLayout plan_colocated(int world_size, const LayoutOptions& options);
  static RankLayout plan_separate(int world_size, const LayoutOptions& options,
                                  const LayoutNeeds& needs);
  int world_size_ = 1;
  bool colocated_ = false;
  Range buffer_, trainer_, rollout_;
};

/// The communicators of a run, made once, in one fixed order. Where this rank has no part the
/// communicator is null; ask the plan for the role, not the communicator.
class Layout {
 public:
  /// Collective over `world`, which must outlive it.
  Layout(Communicator& world, RankLayout plan);

  [[nodiscard]] const RankLayout& plan() const noexcept { return plan_; }
  [[nodiscard]] bool is_buffer() const noexcept { return plan_.is_buffer(world_.rank()); }
  [[nodiscard]] bool is_trainer() const noexcept { return plan_.is_trainer(world_.rank()); }
  [[nodiscard]] bool is_rollout() const noexcept { return plan_.is_rollout(world_.rank()); }

  [[nodiscard]] Communicator& world() noexcept { return world_; }
  /// Buffer and trainer ranks; its windows contain no rank that may die while the job lives.
  [[nodiscard]] Communicator& core() noexcept { return core_; }
  [[nodiscard]] Communicator& trainer() noexcept { return trainer_; }
  [[nodiscard]] Communicator& buffer() noexcept { return buffer_; }
  /// Buffer and rollout ranks: engines pull weights over it.
  [[nodiscard]] Communicator& pull() noexcept { return pull_; }
  [[nodiscard]] Communicator& rollout() noexcept { return rollout_; }

  /// Collective over the world. Closes all but the world, in the order opposite to their making.
  void close();

 private:
  Communicator& world_;
  RankLayout plan_;
  Communicator core_, trainer_, buffer_, pull_, rollout_;
};

}  // namespace physarum::parallel
