#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "physarum/base/options.hpp"

namespace physarum::app {

/// When a training run writes checkpoints, and which one it goes on from.
struct CheckpointOptions {
  std::string save = "{run}/checkpoints";  ///< {run}: the run's directory; empty: none are written
  std::optional<std::int64_t> save_interval;  ///< rollout steps between two; also after the last
  std::string load;                           ///< a directory of checkpoints, or one of them
  bool resume = false;                        ///< go on from `save` if it holds a checkpoint
  bool async_save = false;
  bool save_optim = true;
  bool load_optim = true;
  std::int64_t keep_checkpoints = 3;       ///< 0: all
  std::string save_trigger_sentinel;       ///< file that asks for a checkpoint
  std::vector<std::string> allow_changed;  ///< keys in which a run may differ from its checkpoint

  /// Throws UserError.
  void validate() const;
};

/// Binds the flags, topic "checkpoint".
void declare_options(base::OptionTable& table, CheckpointOptions& options);

}  // namespace physarum::app
