#include "read_file.hpp"

#include <fstream>

#include "physarum/base/error.hpp"

namespace physarum::model {

std::string read_file(const std::filesystem::path& path, std::uint64_t most_bytes) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error)
    throw base::UserError("cannot be read (" + error.message() + ")", path.string(),
                          "check the path");
  if (size > most_bytes) {
    throw base::UserError("has " + std::to_string(size) + " bytes", path.string(),
                          "a file of this kind has at most " + std::to_string(most_bytes));
  }
  std::string text(static_cast<std::size_t>(size), '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file.read(text.data(), static_cast<std::streamsize>(size))) {
    throw base::UserError("cannot be read", path.string(), "check its permissions");
  }
  return text;
}

}  // namespace physarum::model
