#pragma once

#include <string>
#include <vector>

namespace physarum::model {

/// "a, b, c, d, e and 7 more"
[[nodiscard]] std::string name_some(const std::vector<std::string>& names);

}  // namespace physarum::model
