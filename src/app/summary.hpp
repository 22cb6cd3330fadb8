#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "physarum/base/metrics.hpp"

namespace physarum::app {

/// A run's verdict: flat keys, one JSON object, runs/<name>/summary.json. Written whole or not at
/// all (temporary name, fsync, rename).
class Summary {
 public:
  void set(std::string_view key, std::string_view text) {
    values_[std::string(key)] = base::json_string(text);
  }
  void set(std::string_view key, const char* text) { set(key, std::string_view(text)); }
  void set(std::string_view key, std::int64_t value) {
    values_[std::string(key)] = std::to_string(value);
  }
  void set(std::string_view key, int value) { set(key, static_cast<std::int64_t>(value)); }
  void set(std::string_view key, double value) {
    values_[std::string(key)] = base::json_number(value);
  }
  void set_all(const base::Scalars& scalars) {
    for (const auto& [name, value] : scalars) set(name, value);
  }
  [[nodiscard]] std::string to_json() const;
  void write(const std::filesystem::path& path) const;

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace physarum::app
