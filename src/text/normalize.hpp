#pragma once

#include <string>
#include <string_view>

namespace physarum::text {

/// Unicode's normal forms.
enum class NormalForm { nfc, nfd, nfkc, nfkd };

/// `text` in a normal form as the reference's normaliser gives it, which knows Unicode 9 and passes
/// on newer characters as they are. The answer is `text` itself where nothing can change, else a
/// view of `storage`, which must not hold `text`. `text` must be valid UTF-8. Any thread.
[[nodiscard]] std::string_view normalize(NormalForm form, std::string_view text,
                                         std::string& storage);

/// Whether there is a text that normal form C changes at this character. What makes the table of
/// character classes; slow.
[[nodiscard]] bool may_change_under_nfc(char32_t code_point);

}  // namespace physarum::text
