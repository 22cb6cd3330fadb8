#pragma once

#include <array>
#include <cstdint>

namespace physarum::exchange {

/// What an engine has counted since it began: in every request for work, and at a run's end.
struct EngineCounters {
  std::int64_t preemptions = 0;      ///< answers that gave their memory to older ones
  std::int64_t narrowed_nuclei = 0;  ///< nuclei that --rollout-nucleus-limit made smaller
  std::int64_t pulls = 0;            ///< of weight versions
  std::int64_t pull_bytes = 0;
  std::int64_t pull_retries = 0;   ///< attempts that began again
  std::int64_t pull_failures = 0;  ///< of them, those with wrong bytes
  std::int64_t pull_get_us = 0;    ///< looking at the store and transferring
  std::int64_t pull_apply_us = 0;  ///< decoding deltas
  std::int64_t pull_verify_us = 0;
  std::int64_t swaps = 0;    ///< of weights: decoding pauses for them
  std::int64_t swap_us = 0;  ///< all pauses together

  using Member = std::int64_t EngineCounters::*;
  static constexpr std::array<Member, 11> members{
      &EngineCounters::preemptions,    &EngineCounters::narrowed_nuclei,
      &EngineCounters::pulls,          &EngineCounters::pull_bytes,
      &EngineCounters::pull_retries,   &EngineCounters::pull_failures,
      &EngineCounters::pull_get_us,    &EngineCounters::pull_apply_us,
      &EngineCounters::pull_verify_us, &EngineCounters::swaps,
      &EngineCounters::swap_us};

  /// Of several engines together.
  EngineCounters& operator+=(const EngineCounters& other) {
    for (const auto member : members) this->*member += other.*member;
    return *this;
  }
  friend bool operator==(const EngineCounters&, const EngineCounters&) = default;
};

}  // namespace physarum::exchange
