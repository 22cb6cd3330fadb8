#include "physarum/base/memory.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "physarum/base/error.hpp"

namespace physarum::base {

namespace {

namespace fs = std::filesystem;

std::optional<std::int64_t> number_in(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end != text.data() ? std::optional(value) : std::nullopt;
}

std::int64_t available_bytes(const fs::path& proc) {
  constexpr std::string_view field = "MemAvailable:";
  std::ifstream file(proc / "meminfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(field)) continue;
    if (const auto kib = number_in(std::string_view(line).substr(field.size()))) return *kib * 1024;
  }
  throw UserError("has no MemAvailable", (proc / "meminfo").string(),
                  "give --kv-cache-bytes instead of a share of the memory");
}

/// The file holds "max" where there is no limit, or a number.
std::optional<std::int64_t> limit_in(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  return std::getline(file, line) ? number_in(line) : std::nullopt;
}

/// The least limit from a group up to the root. In a container the path may be one of the host that
/// is not here; then only the files that are count.
std::optional<std::int64_t> least_limit(const fs::path& root, fs::path group, const char* name) {
  std::optional<std::int64_t> least;
  for (group = group.relative_path();; group = group.parent_path()) {
    if (const auto limit = limit_in(root / group / name)) {
      least = least ? std::min(*least, *limit) : limit;
    }
    if (group.empty()) return least;
  }
}

bool holds(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const auto comma = std::min(list.find(','), list.size());
    if (list.substr(0, comma) == word) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

/// Of one line of /proc/self/cgroup: "0::/group" (version 2), "4:cpu,memory:/group" (version 1).
std::optional<std::int64_t> limit_of(std::string_view line, const fs::path& root) {
  const auto first = line.find(':');
  const auto second = line.find(':', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return std::nullopt;
  const auto controllers = line.substr(first + 1, second - first - 1);
  const fs::path group(line.substr(second + 1));
  if (controllers.empty()) return least_limit(root, group, "memory.max");
  if (!holds(controllers, "memory")) return std::nullopt;
  return least_limit(root / "memory", group, "memory.limit_in_bytes");
}

}  // namespace

std::int64_t usable_memory_bytes(const MemoryPlaces& places) {
  std::int64_t bytes = available_bytes(places.proc);
  std::ifstream groups(places.proc / "self" / "cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (const auto limit = limit_of(line, places.control_groups)) bytes = std::min(bytes, *limit);
  }
  return bytes;
}

}  // namespace physarum::base
