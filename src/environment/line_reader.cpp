#include "line_reader.hpp"

#include "physarum/base/error.hpp"

namespace physarum::environment {

namespace {
constexpr std::size_t block_bytes = std::size_t{1} << 16;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
}  // namespace

LineReader::LineReader(std::istream& stream, std::string_view where, std::size_t line_bytes,
                       std::size_t total_bytes)
    : stream_(stream),
      where_(where),
      line_bytes_(line_bytes),
      total_bytes_(total_bytes),
      block_(block_bytes) {}

std::optional<std::string_view> LineReader::next() {
  line_.clear();
  ++number_;
  bool ended = false;
  bool any = false;
  while (!ended && (!rest_.empty() || fill())) {
    any = true;
    const auto end = rest_.find('\n');
    ended = end != std::string_view::npos;
    append(rest_.substr(0, end));
    rest_.remove_prefix(ended ? end + 1 : rest_.size());
  }
  if (!any) return std::nullopt;
  if (number_ == 1 && line_.starts_with(byte_order_mark)) line_.erase(0, byte_order_mark.size());
  if (line_.ends_with('\r')) line_.pop_back();
  if (line_.size() > line_bytes_) refuse_length();
  if (line_.find('\0') != std::string::npos) {
    throw base::UserError("the line holds a NUL byte", place(), "is this a text file?");
  }
  return line_;
}

std::string LineReader::place() const { return where_ + ":" + std::to_string(number_); }

bool LineReader::fill() {
  stream_.read(block_.data(), static_cast<std::streamsize>(block_.size()));
  const auto count = static_cast<std::size_t>(stream_.gcount());
  if (stream_.bad()) throw base::UserError("reading fails", place(), "check the disk");
  read_bytes_ += count;
  if (read_bytes_ > total_bytes_) {
    throw base::UserError("the file has more than " + std::to_string(total_bytes_) + " bytes",
                          where_, "split it");
  }
  rest_ = std::string_view(block_.data(), count);
  return count > 0;
}

void LineReader::append(std::string_view part) {
  // A mark and a carriage return do not count; next() looks again once they are off.
  const std::size_t slack = byte_order_mark.size() + 1;
  if (line_.size() + part.size() > line_bytes_ + slack) refuse_length();
  line_.append(part);
}

void LineReader::refuse_length() const {
  throw base::UserError("the line has more than " + std::to_string(line_bytes_) + " bytes", place(),
                        "shorten it");
}

}  // namespace physarum::environment
