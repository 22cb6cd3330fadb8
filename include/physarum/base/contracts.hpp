#pragma once

#include <stdexcept>
#include <string>

#include "physarum/base/source_location.hpp"

#ifndef PHYSARUM_CONTRACTS
#define PHYSARUM_CONTRACTS 1
#endif

namespace physarum::base {

inline constexpr bool contracts_enabled = PHYSARUM_CONTRACTS != 0;

/// Our own mistake: a broken contract. Never caught except at the very end of a rank's role loop,
/// where it is logged and ends the job.
class ContractViolation : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Throws ContractViolation with kind, message and place.
[[noreturn]] void contract_failed(const char* kind, const char* message,
                                  const SourceLocation& where);

/// The caller kept its side. Any thread; costs one branch; compiled out with PHYSARUM_CONTRACTS=0.
constexpr void expects(bool condition, const char* message,
                       const SourceLocation& where = SourceLocation::current()) {
  if (contracts_enabled && !condition) contract_failed("expects", message, where);
}

/// We kept ours.
constexpr void ensures(bool condition, const char* message,
                       const SourceLocation& where = SourceLocation::current()) {
  if (contracts_enabled && !condition) contract_failed("ensures", message, where);
}

/// What is true of the object at every rest.
constexpr void invariant(bool condition, const char* message,
                         const SourceLocation& where = SourceLocation::current()) {
  if (contracts_enabled && !condition) contract_failed("invariant", message, where);
}

}  // namespace physarum::base
