#pragma once

#include <cstdint>

#include "physarum/base/deadline.hpp"

#include "store_access.hpp"

namespace physarum::weights {

/// A network link of one rank, both directions together. 0 Gb/s: as fast as what lies below.
struct Link {
  double gigabits_per_s = 0;
  double latency_s = 0;  ///< one way
};

/// A token bucket: bytes book time on the link, one after the other; whoever needs them waits, by
/// the clock, until the last of them would have come.
class LinkClock {
 public:
  explicit LinkClock(const Link& link) : link_(link) {}
  void book(std::size_t bytes);
  /// Until all that was booked has come, and `trips` times the latency. Yields.
  void wait(int trips);

 private:
  Link link_;
  base::Clock::time_point free_at_ = base::Clock::now();
};

/// Access to a store over a slower link. Real transfers run while the time passes.
class LinkedAccess final : public StoreAccess {
 public:
  LinkedAccess(StoreAccess& below, const Link& link) : below_(below), clock_(link) {}
  void put(std::span<const std::byte> from, int buffer, std::uint64_t offset) override;
  void get(std::span<std::byte> to, int buffer, std::uint64_t offset) override;
  void flush(const base::Deadline& deadline) override;
  std::uint64_t load(int buffer, std::int64_t word) override;
  void store(int buffer, std::int64_t word, std::uint64_t value) override;
  void sync() override { below_.sync(); }

 private:
  StoreAccess& below_;
  LinkClock clock_;
};

}  // namespace physarum::weights
