#pragma once

#include <string>
#include <string_view>

namespace physarum::text {

/// The inside of a PCRE2 class with the characters that `\p{name}` has in Unicode 16: a general
/// category of one or two letters, or one of the scripts with rows in unicode_tables.cpp. Empty for
/// other names. Any thread.
[[nodiscard]] std::string property_class(std::string_view name);

}  // namespace physarum::text
