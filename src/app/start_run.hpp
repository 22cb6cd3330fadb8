#pragma once

#include "physarum/parallel/communicator.hpp"

#include "setup.hpp"

namespace physarum::app {

/// Collective over `world`. Locks the directories that the run writes to, loads the checkpoint that
/// it goes on from, if any, makes or continues the run's directory, starts logging, stores the
/// configuration. All ranks throw the same UserError.
void start_run(Setup& setup, const parallel::Communicator& world);

}  // namespace physarum::app
