#pragma once

#include <exception>
#include <string>
#include <utility>

#include "physarum/base/contracts.hpp"

namespace physarum::base {

/// How a C handle is released.
enum class ReleaseKind {
  local,       ///< by this rank alone: the destructor releases it, a failure is logged
  collective,  ///< with other ranks: close() by name; the destructor only if nothing unwinds
};

/// Logs that a release did not happen or failed; never throws.
void report_release(const char* type_name, const char* what) noexcept;

/// The one owner of C handles (MPI, HDF5). Move-only. Traits give:
///   using value_type; static value_type null(); static constexpr ReleaseKind kind;
///   static constexpr const char* name; static bool alive() noexcept (may we still call the
///   library); static void release(value_type)          — may throw
/// Moving onto a live collective handle is a contract violation: it would hide a collective call.
template <class Traits>
class Handle {
 public:
  using value_type = typename Traits::value_type;

  Handle() noexcept : value_(Traits::null()) {}
  explicit Handle(value_type value) noexcept : value_(value) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  Handle(Handle&& other) noexcept : value_(std::exchange(other.value_, Traits::null())) {}
  Handle& operator=(Handle&& other) {
    if (this == &other) return *this;
    if constexpr (Traits::kind == ReleaseKind::collective) {
      expects(!valid(), "a live collective handle may not be assigned to; close() it first");
    }
    destroy();
    value_ = std::exchange(other.value_, Traits::null());
    return *this;
  }
  ~Handle() { destroy(); }

  [[nodiscard]] value_type get() const noexcept { return value_; }
  [[nodiscard]] bool valid() const noexcept { return value_ != Traits::null(); }
  explicit operator bool() const noexcept { return valid(); }

  /// Where a C function writes a new handle. The handle must be empty.
  [[nodiscard]] value_type* receive() {
    expects(!valid(), "receive() needs an empty handle");
    return &value_;
  }

  /// Gives the value away without releasing it.
  [[nodiscard]] value_type detach() noexcept { return std::exchange(value_, Traits::null()); }

  /// Releases now; throws what the library reports. Collective for collective handles.
  void close() {
    if (!valid()) return;
    Traits::release(std::exchange(value_, Traits::null()));
  }

 private:
  void destroy() noexcept {
    if (!valid()) return;
    if (!Traits::alive()) return report_release(Traits::name, "outlived its library");
    if constexpr (Traits::kind == ReleaseKind::collective) {
      // While an exception unwinds, the other ranks may never come: leave it to the job's end.
      if (std::uncaught_exceptions() > 0) {
        return report_release(Traits::name, "left open while unwinding");
      }
    }
    try {
      close();
    } catch (const std::exception& error) {
      report_release(Traits::name, error.what());
    }
  }

  value_type value_;
};

}  // namespace physarum::base
