#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

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
  /// Goes on in a directory that holds an earlier part of the run: what metrics.jsonl has after its
  /// first `bytes` is cut off, and TensorBoard is told to forget steps from `step` on.
  MetricsWriter(const std::filesystem::path& directory, std::uint64_t bytes, std::int64_t step);
  ~MetricsWriter();
  MetricsWriter(const MetricsWriter&) = delete;
  MetricsWriter& operator=(const MetricsWriter&) = delete;
  MetricsWriter(MetricsWriter&&) = delete;
  MetricsWriter& operator=(MetricsWriter&&) = delete;

  /// Values that are not finite are written as null in metrics.jsonl and as they are in the events.
  void write(std::int64_t step, const Scalars& scalars);
  /// Bytes of metrics.jsonl so far; they are on the disk when it returns.
  [[nodiscard]] std::uint64_t synced_bytes();
  /// Last values of the part of the run before this one.
  void set_last(Scalars last) { last_ = std::move(last); }
  /// The last value of every metric so far.
  [[nodiscard]] const Scalars& last() const { return last_; }

 private:
  void write_event(std::string_view event);
  std::filesystem::path lines_path_;
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
