#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace physarum::base {

/// A list of texts that may hold anything as one text: a TOML array of quoted texts (empty: "").
[[nodiscard]] std::string write_text_list(const std::vector<std::string>& texts);

/// Reads such an array; what does not begin with [ is one text as it stands. Throws UserError.
[[nodiscard]] std::vector<std::string> read_text_list(std::string_view value,
                                                      std::string_view where);

}  // namespace physarum::base
