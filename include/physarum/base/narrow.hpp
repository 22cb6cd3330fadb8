#pragma once

#include <concepts>
#include <type_traits>

#include "physarum/base/contracts.hpp"
#include "physarum/base/source_location.hpp"

namespace physarum::base {

/// Integer conversion that must not lose: the border to C interfaces that count in `int`.
template <std::integral To, std::integral From>
[[nodiscard]] constexpr To narrow(From value,
                                  const SourceLocation& where = SourceLocation::current()) {
  const To result = static_cast<To>(value);
  if (static_cast<From>(result) != value || ((result < To{}) != (value < From{}))) {
    contract_failed("narrow", "integer does not fit", where);
  }
  return result;
}

}  // namespace physarum::base
