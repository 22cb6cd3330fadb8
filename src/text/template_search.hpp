#pragma once

#include <cstddef>
#include <string_view>

#include "template_machine.hpp"

namespace physarum::text::jinja {

// Searching in time that grows with the texts' lengths and not with their product, whoever wrote
// them. Offsets as those of std::string_view, npos included; the work is counted.

[[nodiscard]] std::size_t find_text(Machine& machine, std::string_view text,
                                    std::string_view wanted, std::size_t from = 0);
/// The last one that ends at or before `end`.
[[nodiscard]] std::size_t find_text_backwards(Machine& machine, std::string_view text,
                                              std::string_view wanted, std::size_t end);

}  // namespace physarum::text::jinja
