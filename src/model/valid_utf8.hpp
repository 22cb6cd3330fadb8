#pragma once

#include <string_view>

namespace physarum::model {

/// Whether JSON may hold `text`: UTF-8 without surrogates, overlong forms and code points above
/// U+10FFFF.
[[nodiscard]] bool is_valid_utf8(std::string_view text);

}  // namespace physarum::model
