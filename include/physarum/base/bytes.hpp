#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "physarum/base/ids.hpp"

namespace physarum::base {

using Bytes = std::vector<std::byte>;

static_assert(std::endian::native == std::endian::little,
              "wire and file forms are written in memory order, which must be little-endian");

/// A message or record is shorter than it says, or says more than it may.
class MalformedBytes : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Appends plain values and length-prefixed sequences.
class ByteWriter {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put(const T& value) { append(std::as_bytes(std::span<const T, 1>(&value, 1))); }
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put_span(std::span<const T> values) {
    put<std::uint64_t>(values.size());
    append(std::as_bytes(values));
  }
  template <class T>
  void put_vector(const std::vector<T>& values) {
    put_span(std::span<const T>(values));
  }
  void put_string(std::string_view text) { put_span(std::span<const char>(text)); }
  [[nodiscard]] Bytes take() { return std::move(bytes_); }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }

 private:
  void append(std::span<const std::byte> raw);
  Bytes bytes_;
};

/// Reads what ByteWriter wrote; every length is checked against what is left before memory is
/// taken. Throws MalformedBytes. The bytes must outlive the reader.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
  requires std::is_trivially_copyable_v<T>
  [[nodiscard]] T get() {
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  template <class T>
  requires std::is_trivially_copyable_v<T>
  [[nodiscard]] std::vector<T> get_vector() {
    const auto count = get<std::uint64_t>();
    if (count > bytes_.size() / sizeof(T))
      throw MalformedBytes("a sequence is longer than its record");
    std::vector<T> values(static_cast<std::size_t>(count));
    const auto raw = take(static_cast<std::size_t>(count) * sizeof(T));
    if (!raw.empty()) std::memcpy(values.data(), raw.data(), raw.size());
    return values;
  }
  [[nodiscard]] std::string get_string() {
    const auto characters = get_vector<char>();
    return {characters.begin(), characters.end()};
  }
  [[nodiscard]] std::size_t remaining() const { return bytes_.size(); }
  /// Every record is read to its end: trailing bytes are as wrong as missing ones.
  void finish() const {
    if (!bytes_.empty()) throw MalformedBytes("a record has bytes after its end");
  }

 private:
  std::span<const std::byte> take(std::size_t count) {
    if (count > bytes_.size()) throw MalformedBytes("a record ends too early");
    const auto head = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return head;
  }
  std::span<const std::byte> bytes_;
};

}  // namespace physarum::base
