#pragma once

#include <string_view>
#include <vector>

#include <mpi.h>

#include "physarum/base/bytes.hpp"
#include "physarum/base/deadline.hpp"

#include "communicator_impl.hpp"

namespace physarum::parallel {

/// Requests of one operation on one communicator. wait() must be called; if it throws, or if this
/// is destroyed before, the operation is still pending: the communicator is marked broken and
/// `kept` buffers stay alive until the process ends, because MPI may still write to them.
class Requests {
 public:
  Requests(const Communicator::Impl& comm, std::string_view what) : comm_(comm), what_(what) {}
  ~Requests();
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;
  Requests(Requests&&) = delete;
  Requests& operator=(Requests&&) = delete;

  /// Where an MPI call writes a new request; valid until the next add().
  [[nodiscard]] MPI_Request* add();
  /// Memory that the operation uses and that must not vanish if it fails.
  [[nodiscard]] std::byte* keep(std::size_t bytes);
  void check(int code, const char* call,
             const base::SourceLocation& where = base::SourceLocation::current()) const {
    parallel::check(code, call, comm_.owner(), where);
  }
  /// Bounded, yielding. Throws DeadlineExceeded, PeerLost, WorldError.
  void wait(const base::Deadline& deadline);

 private:
  [[nodiscard]] bool test();
  const Communicator::Impl& comm_;
  std::string_view what_;
  std::vector<MPI_Request> requests_;
  std::vector<base::Bytes> kept_;
  bool complete_ = false;
};

/// Keeps buffers of abandoned operations alive until the process ends.
void keep_forever(base::Bytes&& bytes) noexcept;

}  // namespace physarum::parallel
