#include "template_search.hpp"

#include <algorithm>
#include <vector>

namespace physarum::text::jinja {

namespace {

/// Up to here the plain search is as good as linear.
constexpr std::size_t short_text = 64;

/// Knuth, Morris and Pratt's search: the distance from `text` to the first occurrence, or to the
/// end of the text if there is none.
template <class Iterator>
std::size_t search(Machine& machine, Iterator text, std::size_t size, Iterator wanted,
                   std::size_t wanted_size) {
  using Difference = typename std::iterator_traits<Iterator>::difference_type;
  const auto at = [](Iterator begin, std::size_t offset) {
    return begin[static_cast<Difference>(offset)];
  };
  machine.charge(wanted_size * sizeof(std::size_t));
  std::vector<std::size_t> border(wanted_size, 0);  // longest proper border of each prefix
  for (std::size_t i = 1, length = 0; i < wanted_size; ++i) {
    while (length > 0 && at(wanted, i) != at(wanted, length)) length = border[length - 1];
    if (at(wanted, i) == at(wanted, length)) ++length;
    border[i] = length;
  }
  std::size_t matched = 0;
  for (std::size_t i = 0; i < size; ++i) {
    while (matched > 0 && at(text, i) != at(wanted, matched)) matched = border[matched - 1];
    if (at(text, i) == at(wanted, matched)) ++matched;
    if (matched == wanted_size) return i + 1 - wanted_size;
  }
  return size;
}

}  // namespace

std::size_t find_text(Machine& machine, std::string_view text, std::string_view wanted,
                      std::size_t from) {
  if (wanted.size() <= short_text) {
    const std::size_t found = text.find(wanted, from);
    machine.work(std::min(found, text.size()) - std::min(from, text.size()));
    return found;
  }
  if (from > text.size() || wanted.size() > text.size() - from) return std::string_view::npos;
  const std::size_t size = text.size() - from;
  const std::size_t found =
      search(machine, text.begin() + from, size, wanted.begin(), wanted.size());
  machine.work(16 * std::min(found + wanted.size(), size));
  return found == size ? std::string_view::npos : from + found;
}

std::size_t find_text_backwards(Machine& machine, std::string_view text, std::string_view wanted,
                                std::size_t end) {
  text = text.substr(0, end);
  if (wanted.size() > text.size()) return std::string_view::npos;
  if (wanted.size() <= short_text) {
    const std::size_t found = text.rfind(wanted);
    machine.work(text.size() - std::min(found, text.size()));
    return found;
  }
  const std::size_t found =
      search(machine, text.rbegin(), text.size(), wanted.rbegin(), wanted.size());
  machine.work(16 * std::min(found + wanted.size(), text.size()));
  return found == text.size() ? std::string_view::npos : text.size() - found - wanted.size();
}

}  // namespace physarum::text::jinja
