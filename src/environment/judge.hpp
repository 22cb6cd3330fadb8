#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "physarum/environment/environment.hpp"

namespace physarum::environment {

// The rules by which answers are judged. Pure; any thread; any bytes.

/// Response and label are equal, byte for byte.
[[nodiscard]] Verdict judge_fixed(std::string_view label, std::string_view response);
/// Equal, but for white space around them.
[[nodiscard]] Verdict judge_exact_match(std::string_view label, std::string_view response);
/// The last number of the response equals the last number of the label.
[[nodiscard]] Verdict judge_last_number(std::string_view label, std::string_view response);

/// The last decimal number in a text in a form that is equal for equal numbers: no needless zeros,
/// no thousands separators. A minus counts as a sign if it does not stand behind a digit, letter or
/// bracket.
[[nodiscard]] std::optional<std::string> last_number(std::string_view text);

}  // namespace physarum::environment
