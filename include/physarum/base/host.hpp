#pragma once

#include <string>

namespace physarum::base {

/// This machine's name; "unknown" if it has none. Any thread.
[[nodiscard]] std::string host_name();
/// The time now, UTC, as ISO 8601: "2030-01-31T12:00:00Z". Any thread.
[[nodiscard]] std::string utc_now();

}  // namespace physarum::base
