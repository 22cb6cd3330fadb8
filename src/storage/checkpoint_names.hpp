#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace physarum::storage {

/// Temporary names in a directory of checkpoints: what begins with one of these is nobody's after
/// its writer's death. An attempt's name is its own, so a dead one is never taken for a live one.
inline constexpr std::string_view attempt_prefix = "attempt-";
inline constexpr std::string_view trash_prefix = "trash-";

/// Where an attempt puts what must go.
[[nodiscard]] inline std::filesystem::path trash_path(const std::filesystem::path& attempt) {
  return attempt.parent_path() / (std::string(trash_prefix) + attempt.filename().string());
}

}  // namespace physarum::storage
