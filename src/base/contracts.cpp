#include "physarum/base/contracts.hpp"

namespace physarum::base {

void contract_failed(const char* kind, const char* message, const SourceLocation& where) {
  throw ContractViolation(std::string(kind) + ": " + message + " (" + where.file_name() + ":" +
                          std::to_string(where.line()) + ", " + where.function_name() + ")");
}

}  // namespace physarum::base
