#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

namespace physarum::model {

/// Parses JSON from an untrusted file: valid UTF-8, no name twice in one object, nested at most
/// eight deep, nothing behind the end. Throws UserError with `where`.
[[nodiscard]] nlohmann::json parse_strict_json(std::string_view text, std::string_view where);

}  // namespace physarum::model
