#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace physarum::base {

/// The words with `between` between them.
[[nodiscard]] inline std::string joined(const std::vector<std::string>& words,
                                        std::string_view between) {
  std::string text;
  for (const auto& word : words) {
    if (&word != words.data()) text.append(between);
    text.append(word);
  }
  return text;
}

}  // namespace physarum::base
