#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "physarum/weights/delta_codec.hpp"

namespace physarum::weights {

static_assert(std::endian::native == std::endian::little, "streams are read and written in words");

/// Bits from the lowest of the first byte on.
class BitWriter {
 public:
  void clear() {
    at_ = 0;
    word_ = 0;
    used_ = 0;
  }
  /// The lowest `count` <= 56 bits of a value that has no others.
  void put(std::uint64_t value, unsigned count) {
    word_ |= value << used_;
    used_ += count;
    if (at_ + 8 > bytes_.size()) bytes_.resize(2 * bytes_.size() + 64);
    std::memcpy(bytes_.data() + at_, &word_, 8);
    const unsigned whole = used_ / 8;
    at_ += whole;
    word_ = whole == 8 ? 0 : word_ >> (8 * whole);
    used_ %= 8;
  }
  /// A Golomb-Rice code (Rice 1979): value >> low in unary (zeros, then a one), then its `low`
  /// lowest bits. For gaps between events that come at random it is within a few hundredths of a
  /// bit of the entropy.
  void put_rice(std::uint64_t value, unsigned low) {
    std::uint64_t zeros = value >> low;
    for (; zeros >= 32; zeros -= 32) put(0, 32);
    put(std::uint64_t{1} << zeros, static_cast<unsigned>(zeros) + 1);
    put(value & ((std::uint64_t{1} << low) - 1), low);
  }
  /// All bytes, the last one filled with zeros; nothing may be put after it.
  [[nodiscard]] std::span<const std::byte> finish() {
    if (used_ > 0) put(0, 8 - used_);
    return std::span(bytes_).first(at_);
  }

 private:
  std::vector<std::byte> bytes_;  // the first at_ of them are written
  std::size_t at_ = 0;
  std::uint64_t word_ = 0;
  unsigned used_ = 0;
};

/// Reads what a BitWriter wrote. The bytes may be anything: reading beyond them throws
/// CorruptDelta.
class BitReader {
 public:
  explicit BitReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  /// `count` <= 32 bits.
  std::uint64_t take(unsigned count) {
    if (have_ < count) fill();
    if (have_ < count) throw CorruptDelta("a frame's bits end too early");
    const std::uint64_t value = word_ & ((std::uint64_t{1} << count) - 1);
    drop(count);
    return value;
  }
  /// A Golomb-Rice code; more than `most` zeros, or `low` > 32, are refused by the caller's bounds.
  std::uint64_t take_rice(unsigned low, std::uint64_t most_zeros) {
    std::uint64_t zeros = 0;
    for (;;) {
      if (have_ == 0) fill();
      if (have_ == 0) throw CorruptDelta("a frame's bits end too early");
      const auto run = static_cast<unsigned>(std::countr_zero(word_));
      if (run < have_) {
        zeros += run;
        drop(run + 1);
        break;
      }
      zeros += have_;
      drop(have_);
      if (zeros > most_zeros) break;
    }
    if (zeros > most_zeros) throw CorruptDelta("a frame's gap does not end");
    return (zeros << low) | take(low);
  }
  /// Everything was read, but for less than a byte of zeros.
  [[nodiscard]] bool at_end() const { return at_ == bytes_.size() && have_ < 8 && word_ == 0; }

 private:
  void fill() {
    while (have_ <= 56 && at_ < bytes_.size()) {
      word_ |= static_cast<std::uint64_t>(bytes_[at_++]) << have_;
      have_ += 8;
    }
  }
  void drop(unsigned count) {
    word_ = count >= 64 ? 0 : word_ >> count;
    have_ -= count;
  }

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  std::uint64_t word_ = 0;
  unsigned have_ = 0;  // bits in word_; those above are zero
};

}  // namespace physarum::weights
