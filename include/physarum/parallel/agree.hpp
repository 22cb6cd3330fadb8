#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>

#include "physarum/base/error.hpp"

#include "physarum/parallel/communicator.hpp"

namespace physarum::parallel {

enum class FailureKind : std::uint8_t { user, world };

/// What went wrong on this rank before a point that all ranks reach together.
struct LocalFailure {
  FailureKind kind = FailureKind::world;
  std::string text;
};

/// Sorts the exception in flight: UserError is the user's, anything else the world's.
[[nodiscard]] LocalFailure describe_failure(const std::exception& error);

/// Collective. If any rank failed, all ranks throw the same: UserError or WorldError with the text
/// of the lowest rank that failed (a user's error goes before the world's).
void agree_or_throw(const Communicator& comm, const std::optional<LocalFailure>& mine,
                    const Until& until = {});

/// Collective. Runs `work` here, without collectives in it; then agree_or_throw(): an exception of
/// one rank becomes an exception of all. A rank alone throws its own.
template <class Work>
void together(const Communicator& comm, Work&& work, const Until& until = {}) {
  if (comm.size() == 1) return static_cast<void>(work());
  std::optional<LocalFailure> failure;
  try {
    work();
  } catch (const std::exception& error) {
    failure = describe_failure(error);
  }
  agree_or_throw(comm, failure, until);
}

}  // namespace physarum::parallel
