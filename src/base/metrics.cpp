#include "physarum/base/metrics.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "physarum/base/error.hpp"

namespace physarum::base {

namespace {

constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1U) ? 0x82F63B78U : 0U);
    table[i] = value;
  }
  return table;
}

/// Protocol-buffer wire form, as far as TensorBoard's Event needs it.
class ProtoWriter {
 public:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  void integer(std::uint32_t field, std::int64_t value) {
    varint(field << 3);
    varint(static_cast<std::uint64_t>(value));
  }
  void real64(std::uint32_t field, double value) { fixed(field << 3 | 1U, value); }
  void real32(std::uint32_t field, float value) { fixed(field << 3 | 5U, value); }
  void text(std::uint32_t field, std::string_view value) {
    varint(field << 3 | 2U);
    varint(value.size());
    bytes_ += value;
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  template <class T>
  void fixed(std::uint32_t key, T value) {
    varint(key);
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    bytes_.append(raw, sizeof raw);
  }
  std::string bytes_;
};

double wall_clock_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::uint32_t masked(std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U; }

template <class T>
std::string raw(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr auto table = crc_table();
  std::uint32_t crc = ~0U;
  for (const char c : bytes)
    crc = (crc >> 8) ^ table[(crc ^ static_cast<unsigned char>(c)) & 0xFFU];
  return ~crc;
}

std::string json_number(double value) {
  if (!std::isfinite(value)) return "null";
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  std::string result(text.data(), end);
  return error == std::errc{} ? result : "null";
}

std::string json_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      result += escape;
    } else {
      result += c;
    }
  }
  return result + '"';
}

MetricsWriter::MetricsWriter(const std::filesystem::path& directory)
    : lines_path_(directory / "metrics.jsonl") {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  const auto seconds = static_cast<long long>(wall_clock_s());
  const auto events_path = directory / ("events.out.tfevents." + std::to_string(seconds) +
                                        ".physarum." + std::to_string(::getpid()));
  lines_.open(lines_path_, std::ios::app);
  events_.open(events_path, std::ios::binary | std::ios::app);
  if (error || !lines_ || !events_) {
    throw UserError("the output directory cannot be written", directory.string(),
                    "choose another --run-name or mend its permissions");
  }
  ProtoWriter event;
  event.real64(1, wall_clock_s());
  event.text(3, "brain.Event:2");
  write_event(event.bytes());
}

MetricsWriter::MetricsWriter(const std::filesystem::path& directory, std::uint64_t bytes,
                             std::int64_t step)
    : MetricsWriter(directory) {
  std::error_code error;
  const auto found = std::filesystem::file_size(lines_path_, error);
  if (!error && found > bytes) std::filesystem::resize_file(lines_path_, bytes, error);
  if (error) {
    throw UserError("metrics.jsonl cannot be cut: " + error.message(), lines_path_.string(),
                    "mend its permissions");
  }
  ProtoWriter status;
  status.integer(1, 1);  // SessionLog.START
  ProtoWriter event;
  event.real64(1, wall_clock_s());
  event.integer(2, step);
  event.text(7, status.bytes());
  write_event(event.bytes());
}

MetricsWriter::~MetricsWriter() = default;

std::uint64_t MetricsWriter::synced_bytes() {
  lines_.flush();
  const int descriptor = ::open(lines_path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor >= 0) {
    (void)::fsync(descriptor);
    ::close(descriptor);
  }
  std::error_code error;
  const auto bytes = std::filesystem::file_size(lines_path_, error);
  return error ? 0 : bytes;
}

void MetricsWriter::write(std::int64_t step, const Scalars& scalars) {
  const double now = wall_clock_s();
  std::string line = "{\"step\": " + std::to_string(step) + ", \"time\": " + json_number(now);
  ProtoWriter summary;
  for (const auto& [name, value] : scalars) {
    line += ", " + json_string(name) + ": " + json_number(value);
    ProtoWriter scalar;
    scalar.text(1, name);
    scalar.real32(2, static_cast<float>(value));
    summary.text(1, scalar.bytes());
    last_[name] = value;
  }
  lines_ << line << "}\n" << std::flush;
  ProtoWriter event;
  event.real64(1, now);
  event.integer(2, step);
  event.text(5, summary.bytes());
  write_event(event.bytes());
}

void MetricsWriter::write_event(std::string_view event) {
  const std::string length = raw<std::uint64_t>(event.size());
  events_ << length << raw(masked(crc32c(length))) << event << raw(masked(crc32c(event)))
          << std::flush;
}

}  // namespace physarum::base
