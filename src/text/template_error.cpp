#include "template_error.hpp"

#include "physarum/base/error.hpp"

namespace physarum::text::jinja {

std::string place_of(std::string_view name, Position at) {
  return std::string(name) + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
}

void refuse(std::string_view name, Position at, std::string_view what, std::string_view mend) {
  throw base::UserError(what, place_of(name, at), mend);
}

}  // namespace physarum::text::jinja
