#pragma once

#include <string>
#include <string_view>

namespace physarum::text {

/// A pattern of a tokenizer file, which is meant for Oniguruma, in the words of PCRE2 with the same
/// matches. White space (`\s`) becomes Unicode's list, to which PCRE2 would add U+180E. What both
/// compile but read differently (`\w`, `\b`, `\h`, classes in classes, `{1,3}+`, `(?m)`) is
/// refused. Throws UserError with `where`. Any thread.
[[nodiscard]] std::string to_pcre2(std::string_view pattern, std::string_view where);

}  // namespace physarum::text
