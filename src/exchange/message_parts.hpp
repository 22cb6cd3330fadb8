#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "physarum/base/byte_checks.hpp"

#include "physarum/exchange/messages.hpp"

namespace physarum::exchange {

/// More samples than any engine can hold; keeps sums of them far from overflow.
inline constexpr std::int64_t most_samples = std::int64_t{1} << 31;

using base::read_count;
using base::read_enum;

inline void require(bool condition, const char* what) { base::require_bytes(condition, what); }

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
