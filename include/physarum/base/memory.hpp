#pragma once

#include <cstdint>
#include <filesystem>

namespace physarum::base {

/// Where the kernel says what memory there is; tests give folders of their own.
struct MemoryPlaces {
  std::filesystem::path proc = "/proc";
  std::filesystem::path control_groups = "/sys/fs/cgroup";
};

/// Bytes that the processes of this job can use together on this machine: what the kernel calls
/// available (MemAvailable), but not more than any limit of the control groups that this process is
/// in (versions 1 and 2, parents included; batch schedulers set them). Any thread. Throws UserError
/// if the kernel does not say.
[[nodiscard]] std::int64_t usable_memory_bytes(const MemoryPlaces& places = {});

}  // namespace physarum::base
