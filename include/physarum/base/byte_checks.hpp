#pragma once

#include <cstddef>
#include <cstdint>

#include "physarum/base/bytes.hpp"

namespace physarum::base {

/// Hostile input ends here: throws MalformedBytes.
inline void require_bytes(bool condition, const char* what) {
  if (!condition) throw MalformedBytes(what);
}

/// An enumerator from 0 to `last`.
template <class E>
[[nodiscard]] E read_enum(ByteReader& in, E last) {
  const auto value = in.get<std::uint8_t>();
  require_bytes(value <= static_cast<std::uint8_t>(last), "an enumerator is out of range");
  return static_cast<E>(value);
}

/// A count of records of at least `least_bytes` each: no memory is taken for what cannot be there.
[[nodiscard]] inline std::size_t read_count(ByteReader& in, std::size_t least_bytes) {
  const auto count = in.get<std::uint64_t>();
  require_bytes(count <= in.remaining() / least_bytes, "a list is longer than its record");
  return static_cast<std::size_t>(count);
}

}  // namespace physarum::base
