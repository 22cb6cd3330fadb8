#include "physarum/model/aligned_buffer.hpp"

#include <algorithm>

#include <sys/mman.h>

#include "physarum/base/contracts.hpp"

namespace physarum::model {

namespace {
constexpr std::size_t cache_line = 64;
constexpr std::size_t huge_page = std::size_t{2} << 20;
}  // namespace

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
  const bool large = bytes >= huge_page;
  const std::align_val_t alignment{large ? huge_page : cache_line};
  memory_ = {static_cast<float*>(::operator new[](bytes, alignment)), Free{alignment}};
  // Weights are read from one end to the other for every token: with small pages the processor
  // looks up an address for every 4 KiB of them. Whole pages only, so no memory is taken besides; a
  // system that has none says so, and nothing is lost.
  if (large) (void)::madvise(memory_.get(), bytes / huge_page * huge_page, MADV_HUGEPAGE);
  size_ = size;
}

void AlignedBuffer::Free::operator()(float* memory) const noexcept {
  ::operator delete[](memory, alignment);
}

}  // namespace physarum::model
