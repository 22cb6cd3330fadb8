#include "process_memory.hpp"

#include <fstream>
#include <string>

#include <malloc.h>

#include "physarum/base/error.hpp"

namespace physarum::rollout {

namespace {
std::int64_t status_bytes(const std::string& field) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(field)) return std::stoll(line.substr(field.size())) * 1024;
  }
  throw base::UserError("has no " + field, "/proc/self/status", "run this on Linux");
}
}  // namespace

std::int64_t resident_bytes() { return status_bytes("VmRSS:"); }
std::int64_t peak_resident_bytes() { return status_bytes("VmHWM:"); }

void reset_peak() {
  ::malloc_trim(0);
  std::ofstream file("/proc/self/clear_refs");
  file << "5\n";
  if (!file.flush()) {
    throw base::UserError("cannot be written", "/proc/self/clear_refs",
                          "peak memory needs Linux and its own process");
  }
}

}  // namespace physarum::rollout
