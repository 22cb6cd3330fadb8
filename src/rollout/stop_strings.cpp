#include "stop_strings.hpp"

#include "physarum/base/contracts.hpp"

#include "physarum/sample/sampling_options.hpp"

namespace physarum::rollout {

StopStrings::StopStrings(std::span<const std::string> strings) {
  patterns_.reserve(strings.size());
  for (const auto& string : strings) patterns_.push_back(pattern_of(string));
}

StopStrings::Pattern StopStrings::pattern_of(const std::string& string) {
  base::expects(!string.empty() && string.size() <= sample::most_stop_string_bytes,
                "a stop string that is empty or too long");
  Pattern pattern{string, std::vector<std::uint16_t>(string.size() + 1)};
  // The string is searched in itself, from its second byte on.
  for (std::size_t n = 1; n < string.size(); ++n) {
    pattern.borders[n + 1] = next(pattern, pattern.borders[n], string[n]);
  }
  return pattern;
}

std::uint16_t StopStrings::next(const Pattern& pattern, std::uint16_t matched, char byte) {
  while (matched == pattern.bytes.size() || pattern.bytes[matched] != byte) {
    if (matched == 0) return 0;
    matched = pattern.borders[matched];
  }
  return static_cast<std::uint16_t>(matched + 1);
}

bool StopStrings::advance(std::string_view bytes, Progress& progress) const {
  bool found = false;
  for (std::size_t i = 0; i < patterns_.size(); ++i) {
    const auto& pattern = patterns_[i];
    auto matched = progress[i];
    for (const char byte : bytes) {
      matched = next(pattern, matched, byte);
      found = found || matched == pattern.bytes.size();
    }
    progress[i] = matched;
  }
  return found;
}

}  // namespace physarum::rollout
