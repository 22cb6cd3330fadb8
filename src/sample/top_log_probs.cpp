#include "physarum/sample/top_log_probs.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace physarum::sample {

namespace {

bool is_alternative(TokenId id, float log_prob) {
  return id >= 0 && std::isfinite(log_prob) && log_prob <= 0;
}

/// Alternatives that do not rise, then places without one.
bool is_row(std::span<const TokenId> ids, std::span<const float> log_probs) {
  std::size_t count = 0;
  while (count < ids.size() && is_alternative(ids[count], log_probs[count])) ++count;
  const auto rest = ids.subspan(count);
  const auto nothing = log_probs.subspan(count);
  return count > 0 && std::ranges::is_sorted(log_probs.first(count), std::ranges::greater{}) &&
         std::ranges::all_of(rest, [](TokenId id) { return id == no_alternative; }) &&
         std::ranges::all_of(nothing, [](float value) { return value == no_log_prob; });
}

}  // namespace

const char* find_fault(const TopLogProbs& top, std::int64_t tokens) {
  if (top.empty()) return nullptr;
  if (top.ids.size() != top.log_probs.size()) return "its top log-probs are not one per top token";
  const auto per_token = static_cast<std::size_t>(top.per_token(tokens));
  if (tokens <= 0 || per_token * static_cast<std::size_t>(tokens) != top.ids.size())
    return "it has not equally many top tokens for each response token";
  if (std::cmp_greater(per_token, most_top_log_probs)) return "it has too many top tokens";
  for (std::size_t first = 0; first < top.ids.size(); first += per_token) {
    if (!is_row(std::span(top.ids).subspan(first, per_token),
                std::span(top.log_probs).subspan(first, per_token)))
      return "its top tokens do not come with falling log-probs";
  }
  return nullptr;
}

}  // namespace physarum::sample
