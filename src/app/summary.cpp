#include "summary.hpp"

#include "physarum/storage/commit.hpp"

namespace physarum::app {

std::string Summary::to_json() const {
  std::string text = "{";
  for (const auto& [key, value] : values_) {
    text += (text.size() > 1 ? ",\n  " : "\n  ") + base::json_string(key) + ": " + value;
  }
  return text + "\n}\n";
}

void Summary::write(const std::filesystem::path& path) const {
  storage::commit_text(storage::real_file_system(), path, to_json());
}

}  // namespace physarum::app
