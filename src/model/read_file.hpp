#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace physarum::model {

/// A whole small file as text. Throws UserError if it is missing, unreadable or larger than
/// `most_bytes`.
[[nodiscard]] std::string read_file(const std::filesystem::path& path, std::uint64_t most_bytes);

}  // namespace physarum::model
