#pragma once

#include "physarum/parallel/communicator.hpp"

#include "setup.hpp"

namespace physarum::app {

/// Collective over `world`; the directory is locked. If the run goes on from a checkpoint: finds
/// the newest that verifies, checks that it is this model's and that its configuration agrees, and
/// reads this rank's part into `setup.resume` and `setup.initial`. Damaged ones are named and
/// passed over. All ranks throw the same UserError.
void load_checkpoint(Setup& setup, const parallel::Communicator& world);

}  // namespace physarum::app
