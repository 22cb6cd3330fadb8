#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "physarum/text/tokenizer.hpp"

#include "chat_content.hpp"

namespace physarum::text {

/// Marks the tokens of `text` that overlap one of the byte ranges, which are in order and apart.
/// The tokens must be those of the text: they are laid along it, or along its normal form C if the
/// tokenizer normalises. Throws UserError if they fit neither.
[[nodiscard]] std::vector<bool> mark_tokens(const Tokenizer& tokenizer, std::string_view text,
                                            const std::vector<base::TokenId>& ids,
                                            std::vector<ByteRange> ranges);

}  // namespace physarum::text
