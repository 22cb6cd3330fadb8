#pragma once

#include <atomic>
#include <filesystem>
#include <string>

#include <unistd.h>

namespace physarum::sample::testing {

/// A directory of this test alone, removed with all in it at the end.
class Scratch {
 public:
  Scratch() {
    static std::atomic<int> count = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("physarum_sample_" + std::to_string(::getpid()) + "_" + std::to_string(count++));
    std::filesystem::create_directories(path_);
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  Scratch(Scratch&&) = delete;
  Scratch& operator=(Scratch&&) = delete;

  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const {
    return path_ / name;
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace physarum::sample::testing
