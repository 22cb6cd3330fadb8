#pragma once

#include <cstdint>
#include <vector>

#include "physarum/model/aligned_buffer.hpp"

namespace physarum::rollout {

/// Cache blocks out of bounded memory. Whoever will need blocks reserves them first, so that nobody
/// finds the pool empty half-way; memory is taken when a block is first used.
class BlockPool {
 public:
  /// As many blocks of `block_floats` (a multiple of 16) as `bytes` hold.
  BlockPool(std::int64_t block_floats, std::int64_t bytes);

  [[nodiscard]] std::int64_t capacity() const { return capacity_; }
  [[nodiscard]] std::int64_t unreserved() const { return capacity_ - reserved_; }
  /// Every block has been taken.
  [[nodiscard]] bool is_used_up() const { return free_.empty() && made_ == capacity_; }
  [[nodiscard]] std::int64_t block_floats() const { return block_floats_; }

  void reserve(std::int64_t blocks);
  void release(std::int64_t blocks);

  /// One of the reserved blocks; its content is anything that is finite.
  [[nodiscard]] float* take();
  void give_back(float* block) { free_.push_back(block); }

 private:
  void grow();
  std::int64_t block_floats_;
  std::int64_t capacity_;
  std::int64_t reserved_ = 0;
  std::int64_t made_ = 0;
  std::vector<model::AlignedBuffer> slabs_;
  std::vector<float*> free_;
};

}  // namespace physarum::rollout
