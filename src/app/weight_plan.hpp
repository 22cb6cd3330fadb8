#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "setup.hpp"

namespace physarum::app {

/// Bytes of weights that each kind of rank moves and holds for one full version, by the layout:
/// with the model in one piece every trainer rank puts an equal part and every engine rank gets
/// all; with a model that is split over ranks, by the resharding plan.
struct WeightPlan {
  /// Of the ranks of one kind.
  struct Spread {
    std::int64_t least = 0;
    std::int64_t most = 0;
  };
  Spread put;   ///< by a trainer rank
  Spread got;   ///< by an engine rank
  Spread kept;  ///< by a buffer rank, of the image
  std::int64_t most_put_rounds = 0;
  std::int64_t most_got_rounds = 0;
  std::int64_t trainer_shard = 0;  ///< the most that a trainer rank holds, in the transfer type
  std::int64_t engine_shard = 0;   ///< the same of an engine rank
  bool split = false;              ///< over trainer ranks or over the ranks of an engine

  [[nodiscard]] std::vector<std::string> lines() const;
};

/// Throws UserError if the counts of ranks and the parallel sizes do not fit, or if it is not known
/// how to split a tensor of the model.
[[nodiscard]] WeightPlan weight_plan(const Setup& setup);

/// Nothing but `check` can do anything with a model that is split over ranks: throws UserError that
/// says so if it is.
void refuse_split_model(const Configuration& configuration);

}  // namespace physarum::app
