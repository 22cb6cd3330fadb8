#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace physarum::base {

enum class Severity { debug, info, warning, error };

struct LogOptions {
  int rank = 0;
  std::string role = "rank";                ///< "buffer", "trainer", "rollout", "all"
  std::filesystem::path directory;          ///< a file per rank in it; empty: no files
  Severity console_level = Severity::info;  ///< on rank 0; other ranks print errors only to files
  Severity file_level = Severity::debug;
};

/// Starts logging (Boost.Log): console on rank 0, a file per rank. Call once per process.
void start_logging(const LogOptions& options);
/// Flushes and stops; call before the session ends. Harmless when not started.
void stop_logging() noexcept;

/// Any thread. Before start_logging() only warnings and errors appear, on standard error.
void log(Severity severity, std::string_view message) noexcept;
inline void log_debug(std::string_view message) noexcept { log(Severity::debug, message); }
inline void log_info(std::string_view message) noexcept { log(Severity::info, message); }
inline void log_warning(std::string_view message) noexcept { log(Severity::warning, message); }
inline void log_error(std::string_view message) noexcept { log(Severity::error, message); }

}  // namespace physarum::base
