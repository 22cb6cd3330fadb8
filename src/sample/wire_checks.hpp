#pragma once

#include <cstdint>
#include <string>

#include "physarum/base/byte_checks.hpp"

namespace physarum::sample {

using base::read_count;
using base::read_enum;

inline void require(bool condition, const char* what) { base::require_bytes(condition, what); }

[[nodiscard]] inline bool read_flag(base::ByteReader& in) {
  const auto value = in.get<std::uint8_t>();
  require(value <= 1, "a flag is neither 0 nor 1");
  return value == 1;
}

}  // namespace physarum::sample
