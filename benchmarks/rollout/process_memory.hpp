#pragma once

#include <cstdint>

namespace physarum::rollout {

/// Resident memory of this process now, in bytes.
[[nodiscard]] std::int64_t resident_bytes();
/// The most that was resident since the start or the last reset.
[[nodiscard]] std::int64_t peak_resident_bytes();
/// Gives freed memory back to the system and lets the peak start from what is resident now. Throws
/// UserError if the kernel does not take it (it needs /proc/self/clear_refs).
void reset_peak();

}  // namespace physarum::rollout
