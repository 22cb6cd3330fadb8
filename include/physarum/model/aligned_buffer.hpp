#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

namespace physarum::model {

/// Floats on a 64-byte boundary (a cache line, two AVX2 vectors); large ones on pages of 2 MiB
/// where the system has them. Move-only.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  /// `size` zeros.
  explicit AlignedBuffer(std::int64_t size);

  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] float* data() { return memory_.get(); }
  [[nodiscard]] const float* data() const { return memory_.get(); }
  [[nodiscard]] std::span<float> span() { return {data(), static_cast<std::size_t>(size_)}; }
  [[nodiscard]] std::span<const float> span() const {
    return {data(), static_cast<std::size_t>(size_)};
  }
  /// At least `size` floats; what was in it is lost when it grows. Never shrinks.
  void reserve(std::int64_t size);

 private:
  struct Free {
    std::align_val_t alignment;
    void operator()(float* memory) const noexcept;
  };
  std::unique_ptr<float[], Free> memory_;
  std::int64_t size_ = 0;
};

}  // namespace physarum::model
