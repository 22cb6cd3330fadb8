#pragma once

#include "physarum/parallel/communicator.hpp"

namespace physarum::storage {

/// The communicator of a process without others.
inline const parallel::Communicator alone;

}  // namespace physarum::storage
