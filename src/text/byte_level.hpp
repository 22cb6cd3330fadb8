#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace physarum::text {

/// The alphabet that GPT-2 made: tokenizer files write each byte as one printable character. The
/// bytes of a token written so; nothing if a character is not of the alphabet, as in the names of
/// some special tokens. `token` must be valid UTF-8.
[[nodiscard]] std::optional<std::string> from_byte_level(std::string_view token);
/// The same, appended to `bytes`. False, with a part of the bytes appended, where there is nothing.
[[nodiscard]] bool append_from_byte_level(std::string_view token, std::string& bytes);

}  // namespace physarum::text
