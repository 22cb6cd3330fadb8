#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <sys/types.h>

#include "physarum/parallel/communicator.hpp"

namespace physarum::parallel {

/// Memory of other processes on this machine, which the kernel copies from them in one go, without
/// their help. MPI's one-sided transfers between two processes of a machine are messages: cut into
/// small pieces, copied twice, and as slow as the other side is in answering. Processes on other
/// machines, and those whose memory this one may not see, are no neighbours.
class Neighbours {
 public:
  /// None.
  Neighbours() = default;
  /// Collective. Whether another rank's `memory` can be read is tried. It must stay in place, and
  /// this object alive, until the last rank has stopped reading.
  Neighbours(const Communicator& comm, std::span<std::byte> memory);

  /// Whether `target` is one; no rank is its own.
  [[nodiscard]] bool have(int target) const;
  /// Complete when it returns; does not wait for anybody. Throws WorldError, also if the process
  /// has died. Bytes that change meanwhile may come in either state.
  void read(std::span<std::byte> to, int target, std::uint64_t offset) const;

 private:
  struct Process {
    pid_t id = 0;
    std::uint64_t memory = 0;  ///< where it lies in that process
    bool readable = false;
  };
  std::vector<Process> processes_;             // by rank
  std::unique_ptr<const std::uint64_t> sign_;  // by which others know this process
};

}  // namespace physarum::parallel
