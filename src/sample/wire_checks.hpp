#pragma once

#include <cstdint>
#include <string>

#include "physarum/base/bytes.hpp"

namespace physarum::sample {

/// Hostile input ends here.
inline void require(bool condition, const char* what) {
  if (!condition) throw base::MalformedBytes(what);
}

template <class E>
[[nodiscard]] E read_enum(base::ByteReader& in, E last) {
  const auto value = in.get<std::uint8_t>();
  require(value <= static_cast<std::uint8_t>(last), "an enumerator is out of range");
  return static_cast<E>(value);
}

[[nodiscard]] inline bool read_flag(base::ByteReader& in) {
  const auto value = in.get<std::uint8_t>();
  require(value <= 1, "a flag is neither 0 nor 1");
  return value == 1;
}

/// A count of records of at least `least_bytes` each: no memory is taken for what cannot be there.
[[nodiscard]] inline std::size_t read_count(base::ByteReader& in, std::size_t least_bytes) {
  const auto count = in.get<std::uint64_t>();
  require(count <= in.remaining() / least_bytes, "a list is longer than its record");
  return static_cast<std::size_t>(count);
}

}  // namespace physarum::sample
