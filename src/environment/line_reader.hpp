#pragma once

#include <cstddef>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace physarum::environment {

/// Lines of a text file that nobody vouches for. Holds one line and a block, whatever the file is.
/// Line ends may be those of Windows; a byte order mark is skipped. Throws UserError with file and
/// line for NUL bytes, for a line or a whole that is too long, and if reading fails.
class LineReader {
 public:
  LineReader(std::istream& stream, std::string_view where, std::size_t line_bytes,
             std::size_t total_bytes);

  /// The next line without its end; holds until the next call.
  [[nodiscard]] std::optional<std::string_view> next();
  /// "file:12": the line that next() gave last.
  [[nodiscard]] std::string place() const;

 private:
  [[nodiscard]] bool fill();
  void append(std::string_view part);
  [[noreturn]] void refuse_length() const;
  std::istream& stream_;
  std::string where_;
  std::size_t line_bytes_;
  std::size_t total_bytes_;
  std::size_t read_bytes_ = 0;
  std::size_t number_ = 0;
  std::vector<char> block_;
  std::string_view rest_;  ///< of the block
  std::string line_;
};

}  // namespace physarum::environment
