#include "block_pool.hpp"

#include <algorithm>

#include "physarum/base/contracts.hpp"

namespace physarum::rollout {

namespace {
constexpr std::int64_t slab_bytes = std::int64_t{4} << 20;
}

BlockPool::BlockPool(std::int64_t block_floats, std::int64_t bytes)
    : block_floats_(block_floats),
      capacity_(bytes / (block_floats * static_cast<std::int64_t>(sizeof(float)))) {
  base::expects(block_floats >= 16 && block_floats % 16 == 0, "cache blocks are whole cache lines");
}

void BlockPool::reserve(std::int64_t blocks) {
  base::expects(blocks <= unreserved(), "more cache blocks reserved than there are");
  reserved_ += blocks;
}

void BlockPool::release(std::int64_t blocks) {
  reserved_ -= blocks;
  base::ensures(reserved_ >= 0, "more cache blocks released than were reserved");
}

float* BlockPool::take() {
  if (free_.empty()) grow();
  float* block = free_.back();
  free_.pop_back();
  return block;
}

void BlockPool::grow() {
  const auto bytes = block_floats_ * static_cast<std::int64_t>(sizeof(float));
  const auto count = std::min(std::max<std::int64_t>(1, slab_bytes / bytes), capacity_ - made_);
  base::expects(count >= 1, "a cache block was taken without a reservation");
  slabs_.emplace_back(count * block_floats_);
  made_ += count;
  free_.reserve(static_cast<std::size_t>(made_));
  for (std::int64_t i = count - 1; i >= 0; --i) {
    free_.push_back(slabs_.back().data() + i * block_floats_);
  }
}

}  // namespace physarum::rollout
