#include "store_access.hpp"

#include "store_words.hpp"

namespace physarum::weights {

std::optional<RingDelta> find_delta(StoreAccess& access, int buffer, std::int64_t ring,
                                    base::WeightVersion from) {
  for (std::int64_t entry = 0; entry < ring; ++entry) {
    const auto target = StoreWords::version(access.load(buffer, StoreWords::entry(entry)));
    if (target <= from) continue;
    if (access.load(buffer, StoreWords::entry_base(entry)) != StoreWords::of(from)) continue;
    return RingDelta{entry, target};
  }
  return std::nullopt;
}

void WindowAccess::put(std::span<const std::byte> from, int buffer, std::uint64_t offset) {
  if (!from.empty()) epoch_.put(from, buffer, offset);
}

void WindowAccess::get(std::span<std::byte> to, int buffer, std::uint64_t offset) {
  if (!to.empty()) epoch_.get(to, buffer, offset);
}

void WindowAccess::flush(const base::Deadline& deadline) { epoch_.flush_all(deadline); }

std::uint64_t WindowAccess::load(int buffer, std::int64_t word) {
  return epoch_.load(buffer, StoreWords::offset(word));
}

void WindowAccess::store(int buffer, std::int64_t word, std::uint64_t value) {
  epoch_.store(buffer, StoreWords::offset(word), value);
}

void WindowAccess::sync() { epoch_.sync(); }

}  // namespace physarum::weights
