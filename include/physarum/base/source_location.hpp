#pragma once

#include <version>

#ifdef __cpp_lib_source_location
#include <source_location>
#endif

namespace physarum::base {

#ifdef __cpp_lib_source_location
using SourceLocation = std::source_location;
#else
/// clang 14 (clang-tidy, ThreadSanitizer builds) lacks the builtin that libstdc++ 12 asks for.
class SourceLocation {
 public:
  static constexpr SourceLocation current(const char* file = __builtin_FILE(),
                                          const char* function = __builtin_FUNCTION(),
                                          unsigned line = __builtin_LINE()) {
    return SourceLocation(file, function, line);
  }
  [[nodiscard]] constexpr const char* file_name() const { return file_; }
  [[nodiscard]] constexpr const char* function_name() const { return function_; }
  [[nodiscard]] constexpr unsigned line() const { return line_; }

 private:
  constexpr SourceLocation(const char* file, const char* function, unsigned line)
      : file_(file), function_(function), line_(line) {}
  const char* file_;
  const char* function_;
  unsigned line_;
};
#endif

}  // namespace physarum::base
