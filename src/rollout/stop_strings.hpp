#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace physarum::rollout {

/// Looks for strings in a text that comes in pieces: Knuth, Morris and Pratt's search (SIAM J.
/// Comput. 6, 1977) for each string, so that every byte is looked at once, however often a string
/// begins, and nothing of the text is kept.
///
/// Bytes are compared, which for strings of whole UTF-8 characters is the same as comparing
/// characters: no character's bytes occur inside another's, nor across two. So a character that
/// tokens have cut in pieces needs no decoder that holds it back.
class StopStrings {
 public:
  /// For each string, how many of its first bytes the text ends with.
  using Progress = std::vector<std::uint16_t>;

  /// None is empty or longer than sample::most_stop_string_bytes.
  explicit StopStrings(std::span<const std::string> strings);

  /// Of an empty text.
  [[nodiscard]] Progress start() const { return Progress(patterns_.size()); }
  /// The text goes on. True if a string ends in `bytes`, wherever it began.
  [[nodiscard]] bool advance(std::string_view bytes, Progress& progress) const;

 private:
  struct Pattern {
    std::string bytes;
    /// borders[n]: the longest proper beginning of the first n bytes that is also their end.
    std::vector<std::uint16_t> borders;
  };
  [[nodiscard]] static Pattern pattern_of(const std::string& string);
  [[nodiscard]] static std::uint16_t next(const Pattern& pattern, std::uint16_t matched, char byte);

  std::vector<Pattern> patterns_;
};

}  // namespace physarum::rollout
