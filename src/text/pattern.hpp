#pragma once

#include <string>
#include <string_view>

namespace physarum::text {

/// A pattern of a tokenizer file, which is meant for Oniguruma with Unicode 16, in the words of
/// PCRE2 with the same matches. White space (`\s`) becomes Unicode's list, to which PCRE2 would add
/// U+180E; `\p{...}` gets the characters that PCRE2's Unicode may lack. What is not known to mean
/// the same to both (`\w`, `\b`, `\h`, classes in classes, `{1,3}+`, `(?m)`, recursion, verbs) is
/// refused. Throws UserError with `where`. Any thread.
[[nodiscard]] std::string to_pcre2(std::string_view pattern, std::string_view where);

}  // namespace physarum::text
