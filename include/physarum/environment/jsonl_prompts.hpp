#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "physarum/sample/prompt.hpp"

namespace physarum::environment {

/// Names of the fields in each line.
struct JsonlKeys {
  std::string input = "input";
  std::string label;  ///< empty: prompts have no label
  std::string metadata = "metadata";
  std::string tools{};    ///< empty: conversations have no tools
  void validate() const;  ///< throws UserError
};

/// Whether the text of a prompt may be empty.
enum class EmptyTexts : std::uint8_t { refuse, keep };

/// What a file of prompts may hold at most; all inclusive, each checked before memory is taken.
struct JsonlLimits {
  std::size_t line_bytes = std::size_t{4} << 20;
  std::size_t total_bytes = std::size_t{4} << 30;
  std::size_t json_depth = 64;
  EmptyTexts empty_texts = EmptyTexts::refuse;
};

/// Reads one JSON object a line: the input is a text, or a conversation as a list of messages, each
/// an object with a `role`; the label is a text or number, the metadata an object (absent: {}),
/// the tools of a conversation a list of objects (absent: none). Rows are numbered from 0 in the
/// order of the file; `environment` judges them unless their metadata names another as "rm_type".
/// Windows line ends, a byte order mark, blank lines and a missing last line end are allowed.
/// Throws UserError that names file and line for anything else: no prompts, bytes that are not
/// UTF-8, NUL, keys twice.
[[nodiscard]] std::vector<sample::Prompt> read_jsonl_prompts(const std::filesystem::path& path,
                                                             const JsonlKeys& keys,
                                                             std::string_view environment,
                                                             const JsonlLimits& limits = {});
/// The same for a stream; `where` is the place in messages.
[[nodiscard]] std::vector<sample::Prompt> read_jsonl_prompts(std::istream& stream,
                                                             std::string_view where,
                                                             const JsonlKeys& keys,
                                                             std::string_view environment,
                                                             const JsonlLimits& limits = {});

}  // namespace physarum::environment
