#pragma once

#include <string_view>

#include "physarum/text/chat_template.hpp"

#include "template_ast.hpp"

namespace physarum::text::jinja {

/// Reads a template as Jinja does. Throws UserError with line and column: not valid, beyond a
/// limit, or something that there is not here.
[[nodiscard]] Program parse_template(std::string_view source, std::string_view name,
                                     const TemplateLimits& limits);

}  // namespace physarum::text::jinja
