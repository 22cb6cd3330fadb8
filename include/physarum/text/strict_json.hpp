#pragma once

#include <cstddef>
#include <string_view>

#include <nlohmann/json.hpp>

namespace physarum::text {

/// Parses one JSON value and nothing after it, from text that nobody vouches for. Throws UserError
/// with `where` as the place if it is not JSON, not UTF-8, nested deeper than `max_depth`, names a
/// key twice in one object, or holds a number that a double cannot. Any thread.
[[nodiscard]] nlohmann::json parse_strict_json(std::string_view text, std::string_view where,
                                               std::size_t max_depth = 64);

/// The same, with the keys of objects in the order of the text: for JSON that is shown again.
[[nodiscard]] nlohmann::ordered_json parse_strict_ordered_json(std::string_view text,
                                                               std::string_view where,
                                                               std::size_t max_depth = 64);

}  // namespace physarum::text
