#include "template_error.hpp"

#include "physarum/base/error.hpp"

#include "physarum/text/utf8.hpp"

namespace physarum::text::jinja {

std::string place_of(std::string_view name, Position at) {
  return std::string(name) + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
}

void refuse(std::string_view name, Position at, std::string_view what, std::string_view mend) {
  // Names and messages come from the template: any length, and cut anywhere.
  constexpr std::size_t longest = 2500;
  throw base::UserError(replace_invalid_utf8(what.substr(0, longest)), place_of(name, at), mend);
}

}  // namespace physarum::text::jinja
