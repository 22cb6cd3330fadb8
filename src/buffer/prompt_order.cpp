#include "prompt_order.hpp"

#include "physarum/base/contracts.hpp"

namespace physarum::buffer {

namespace {
constexpr int rounds = 6;
}

PromptOrder::PromptOrder(std::int64_t size, Shuffle shuffle, std::uint64_t seed)
    : size_(size), shuffle_(shuffle), stream_(seed, base::StreamKind::shuffle) {
  base::expects(size > 0 && size <= (std::int64_t{1} << 62), "a prompt source has some prompts");
  while ((std::uint64_t{1} << (2 * half_bits_)) < static_cast<std::uint64_t>(size)) ++half_bits_;
}

/// A Feistel network permutes the numbers below the next power of four; those that fall outside the
/// source are permuted again until they are inside (at most four times in the mean).
std::int64_t PromptOrder::index(std::int64_t position) const {
  base::expects(position >= 0, "groups are counted from 0");
  const std::int64_t place = position % size_;
  if (shuffle_ == Shuffle::off || size_ == 1) return place;
  auto value = static_cast<std::uint64_t>(place);
  do {
    value = permute(value, epoch(position));
  } while (value >= static_cast<std::uint64_t>(size_));
  return static_cast<std::int64_t>(value);
}

std::uint64_t PromptOrder::permute(std::uint64_t value, std::int64_t epoch) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = value >> half_bits_;
  std::uint64_t right = value & mask;
  for (int round = 0; round < rounds; ++round) {
    const auto item =
        static_cast<std::uint64_t>(epoch) * rounds + static_cast<std::uint64_t>(round);
    const std::uint64_t mixed = stream_.bits(item, static_cast<std::uint32_t>(right)) & mask;
    const std::uint64_t next = left ^ mixed;
    left = right;
    right = next;
  }
  return (left << half_bits_) | right;
}

}  // namespace physarum::buffer
