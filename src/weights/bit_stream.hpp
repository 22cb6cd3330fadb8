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

/// Bits from the lowest of the first byte on. A local variable: its state stays in registers while
/// the memory belongs to somebody else, who uses it again.
class BitWriter {
 public:
  /// `memory` grows if it has no room for `most_bits`; no more may be put.
  BitWriter(std::vector<std::byte>& memory, std::size_t most_bits) {
    constexpr std::size_t slack = 16;  // whole words are stored
    if (memory.size() < most_bits / 8 + slack) memory.resize(most_bits / 8 + slack);
    begin_ = to_ = memory.data();
  }
  /// The lowest `count` <= 56 bits of a value that has no others.
  void put(std::uint64_t value, unsigned count) {
    word_ |= value << used_;
    used_ += count;
    std::memcpy(to_, &word_, 8);
    to_ += used_ / 8;
    word_ >>= used_ & ~7U;
    used_ %= 8;
  }
  /// A Golomb-Rice code (Rice 1979): value >> low in unary (zeros, then a one), then its `low`
  /// lowest bits. For gaps between events that come at random it is within a few hundredths of a
  /// bit of the entropy. `low` <= 24.
  void put_rice(std::uint64_t value, unsigned low) {
    std::uint64_t zeros = value >> low;
    for (; zeros >= 31; zeros -= 31) put(0, 31);
    const std::uint64_t rest = value & ((std::uint64_t{1} << low) - 1);
    const auto code = (std::uint64_t{1} | rest << 1) << zeros;
    put(code, static_cast<unsigned>(zeros) + 1 + low);
  }
  /// All bytes, the last one filled with zeros; nothing may be put after it.
  [[nodiscard]] std::span<const std::byte> finish() {
    if (used_ > 0) put(0, 8 - used_);
    return {begin_, to_};
  }

 private:
  std::byte* begin_;
  std::byte* to_;
  std::uint64_t word_ = 0;
  unsigned used_ = 0;  // below 8
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
    if (bytes_.size() - at_ >= 8) {
      // As many whole bytes of the next word as there is room for.
      std::uint64_t next;
      std::memcpy(&next, bytes_.data() + at_, 8);
      const unsigned whole = (63 - have_) / 8;
      word_ |= (next & ((std::uint64_t{1} << (8 * whole)) - 1)) << have_;
      at_ += whole;
      have_ += 8 * whole;
      return;
    }
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
