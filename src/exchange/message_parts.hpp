#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "physarum/base/bytes.hpp"

#include "physarum/exchange/messages.hpp"

namespace physarum::exchange {

/// More samples than any engine can hold; keeps sums of them far from overflow.
inline constexpr std::int64_t most_samples = std::int64_t{1} << 31;

inline void require(bool condition, const char* what) {
  if (!condition) throw base::MalformedBytes(what);
}

template <class E>
[[nodiscard]] E read_enum(base::ByteReader& in, E last) {
  const auto value = in.get<std::uint8_t>();
  require(value <= static_cast<std::uint8_t>(last), "an enumerator is out of range");
  return static_cast<E>(value);
}

/// A count of records of at least `least_bytes` each.
[[nodiscard]] inline std::size_t read_count(base::ByteReader& in, std::size_t least_bytes) {
  const auto count = in.get<std::uint64_t>();
  require(count <= in.remaining() / least_bytes, "a list is longer than its message");
  return static_cast<std::size_t>(count);
}

template <class T, class Read>
[[nodiscard]] std::vector<T> read_list(base::ByteReader& in, std::size_t least_bytes,
                                       const Read& read) {
  const std::size_t count = read_count(in, least_bytes);
  std::vector<T> list;
  list.reserve(count);
  for (std::size_t i = 0; i < count; ++i) list.push_back(read(in));
  return list;
}

/// Reads a whole message and refuses trailing bytes.
template <class Read>
[[nodiscard]] auto read_all(ByteView bytes, const Read& read) {
  base::ByteReader in(bytes);
  auto message = read(in);
  in.finish();
  return message;
}

[[nodiscard]] inline Bytes encode_step(std::int64_t step) {
  base::ByteWriter out;
  out.put(step);
  return out.take();
}

[[nodiscard]] inline std::int64_t decode_step(ByteView bytes) {
  return read_all(bytes, [](base::ByteReader& in) {
    const auto step = in.get<std::int64_t>();
    require(step >= 0, "a step or version is negative");
    return step;
  });
}

}  // namespace physarum::exchange
