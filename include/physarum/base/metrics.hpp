#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace physarum::base {

/// Scalars by metric name, for example {"train/loss", 0.31}.
using Scalars = std::map<std::string, double>;

/// Writes scalars of a run as TensorBoard events and as metrics.jsonl, one line a call. One rank
/// uses it; not thread-safe. Every record is flushed, so a killed run keeps what it reported.
class MetricsWriter {
 public:
  /// Creates `directory` with metrics.jsonl and events.out.tfevents.*; throws UserError if it can
  /// not be written.
  explicit MetricsWriter(const std::filesystem::path& directory);
  ~MetricsWriter();
  MetricsWriter(const MetricsWriter&) = delete;
  MetricsWriter& operator=(const MetricsWriter&) = delete;
  MetricsWriter(MetricsWriter&&) = delete;
  MetricsWriter& operator=(MetricsWriter&&) = delete;

  /// Values that are not finite are written as null in metrics.jsonl and as they are in the events.
  void write(std::int64_t step, const Scalars& scalars);
  /// The last value of every metric so far.
  [[nodiscard]] const Scalars& last() const { return last_; }

 private:
  void write_event(std::string_view event);
  std::ofstream lines_;
  std::ofstream events_;
  Scalars last_;
};

/// CRC-32C (Castagnoli), as TensorBoard's record format wants it (there "masked").
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes);

/// A JSON number, or null if not finite; enough digits to read back the same double.
[[nodiscard]] std::string json_number(double value);
/// A JSON string with quotes and escapes.
[[nodiscard]] std::string json_string(std::string_view text);

}  // namespace physarum::base
