#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "physarum/model/gguf.hpp"

#include "gguf_cursor.hpp"

namespace physarum::model {

/// Reads `entries` keys and values.
[[nodiscard]] std::map<std::string, GgufValue, std::less<>> read_gguf_metadata(
    GgufCursor& cursor, std::uint64_t entries, const GgufLimits& limits);

}  // namespace physarum::model
