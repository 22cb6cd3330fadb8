#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "physarum/base/source_location.hpp"

namespace physarum::base {

/// Exit codes of the program; part of its contract with batch scripts.
enum class ExitCode : int {
  done = 0,
  user_error = 2,   ///< the input is wrong: one line says what, where and how to mend it
  rank_failed = 3,  ///< a rank failed and could not be recovered
  requeue_me = 75,  ///< stopped by a signal after a checkpoint
};

/// The user's input is wrong: what, where, how to mend it. Ends the program with code 2; printed by
/// one rank. Checked when the input is read, in every build.
class UserError : public std::runtime_error {
 public:
  /// `what_is_wrong`: "unknown key 'lrr'"; `where`: "config.toml:3"; `mend`: "did you mean 'lr'?".
  UserError(std::string_view what_is_wrong, std::string_view where, std::string_view mend);
};

/// The world failed (MPI, HDF5, disk): the call, its code and text, where we made it.
class WorldError : public std::runtime_error {
 public:
  WorldError(std::string_view call, long code, std::string_view text,
             const SourceLocation& where = SourceLocation::current());
  [[nodiscard]] const std::string& call() const { return call_; }
  [[nodiscard]] long code() const { return code_; }

 private:
  std::string call_;
  long code_;
};

/// A wait ended by its deadline; says who waited, in which phase, for what.
class DeadlineExceeded : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace physarum::base
