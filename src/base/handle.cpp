#include "physarum/base/handle.hpp"

#include "physarum/base/logging.hpp"

namespace physarum::base {

void report_release(const char* type_name, const char* what) noexcept {
  try {
    log_warning(std::string("release of ") + type_name + ": " + what);
  } catch (...) {  // out of memory while reporting: nothing left to say it with
  }
}

}  // namespace physarum::base
