#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "regex.hpp"
#include "word_pattern.hpp"

namespace physarum::text {

/// What becomes of the parts that a pattern matches.
enum class SplitBehavior {
  removed,
  isolated,              ///< a piece of their own
  merged_with_previous,  ///< end of the piece before
  merged_with_next,      ///< beginning of the piece behind
  contiguous,            ///< matches in a row are one piece
};

/// Cuts pieces where a pattern matches; with `invert`, where it does not.
struct SplitStage {
  std::variant<Regex, WordPattern> pattern;
  SplitBehavior behavior;
  bool invert;
};

/// Puts a space before each piece that does not begin with one.
struct SpaceStage {};

using Stage = std::variant<SplitStage, SpaceStage>;

/// Where pieces live while a text is encoded. One thread at a time.
struct SplitScratch {
  RegexScratch regex;
  std::vector<std::string_view> pieces;
  std::vector<std::string_view> next;
  std::deque<std::string> owned;  ///< pieces that got a space
};

/// A pattern of a tokenizer file: by hand where we know it, else as Regex, which throws UserError.
[[nodiscard]] std::variant<Regex, WordPattern> make_pattern(std::string_view pattern,
                                                            std::string_view where);

/// Cuts `text` by all stages in turn. The pieces view `text` or the scratch and hold until the next
/// call; none is empty. `text` must be valid UTF-8. Throws UserError if the steps that the scratch
/// grants run out.
[[nodiscard]] const std::vector<std::string_view>& split(const std::vector<Stage>& stages,
                                                         std::string_view text,
                                                         SplitScratch& scratch);

}  // namespace physarum::text
