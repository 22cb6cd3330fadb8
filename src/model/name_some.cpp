#include "name_some.hpp"

#include <algorithm>
#include <cstddef>

namespace physarum::model {

std::string name_some(const std::vector<std::string>& names) {
  constexpr std::size_t most_named = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most_named); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > most_named) {
    text += " and " + std::to_string(names.size() - most_named) + " more";
  }
  return text;
}

}  // namespace physarum::model
