#pragma once

#include <string_view>

namespace physarum::app {

/// The program's version, from the project() line of CMakeLists.txt; stored in every output.
inline constexpr std::string_view version = PHYSARUM_VERSION;

}  // namespace physarum::app
