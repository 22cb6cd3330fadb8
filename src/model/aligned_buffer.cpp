#include "physarum/model/aligned_buffer.hpp"

#include <algorithm>
#include <new>

#include "physarum/base/contracts.hpp"

namespace physarum::model {

namespace {
constexpr std::align_val_t alignment{64};
}

AlignedBuffer::AlignedBuffer(std::int64_t size) {
  reserve(size);
  std::ranges::fill(span(), 0.0F);
}

void AlignedBuffer::reserve(std::int64_t size) {
  base::expects(size >= 0, "a buffer has no negative size");
  if (size <= size_) return;
  memory_.reset();  // first give back, so that growing does not need both
  size_ = 0;
  const auto bytes = static_cast<std::size_t>(size) * sizeof(float);
  memory_.reset(static_cast<float*>(::operator new[](bytes, alignment)));
  size_ = size;
}

void AlignedBuffer::Free::operator()(float* memory) const noexcept {
  ::operator delete[](memory, alignment);
}

}  // namespace physarum::model
