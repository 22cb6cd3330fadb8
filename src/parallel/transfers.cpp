#include "physarum/parallel/transfers.hpp"

#include <utility>
#include <vector>

#include <mpi.h>

#include "physarum/base/contracts.hpp"
#include "physarum/base/logging.hpp"
#include "physarum/base/narrow.hpp"

#include "communicator_impl.hpp"
#include "peers.hpp"

namespace physarum::parallel {

using base::narrow;

namespace {
constexpr std::size_t longest_transfer = std::size_t{1} << 30;
constexpr int last_transfer_tag = 30000;
enum class Direction { send, receive };
}  // namespace

struct Transfers::Impl {
  explicit Impl(const Communicator& over) : comm(over) {}

  struct Operation {
    std::int64_t id;
    int peer;
    Direction direction;
    std::size_t bytes;
  };
  const Communicator& comm;
  std::int64_t next_id = 0;
  // Side by side: MPI wants the requests as an array.
  std::vector<MPI_Request> requests;
  std::vector<Operation> operations;
  std::vector<Finished> finished;
  std::vector<Finished> refused;  // could not even be started; told at the next advance()
  std::vector<int> places;
  std::vector<MPI_Status> statuses;

  [[nodiscard]] MPI_Comm handle() const { return comm.impl()->handle.get(); }
  [[nodiscard]] bool lost_peer(int code, const char* call) const;
  std::int64_t add(const Operation& operation, MPI_Request request, int code, const char* call);
  void check_peer(int peer, std::size_t bytes, int tag) const;
  void finish(int place, const MPI_Status& status, int code);
  void remove_finished();
  [[nodiscard]] bool withdraw(std::size_t place);
};

/// True if the call failed because its peer died; any other failure is thrown.
bool Transfers::Impl::lost_peer(int code, const char* call) const {
  if (code == MPI_SUCCESS) return false;
  if (!means_lost_peer(error_class(code))) check(code, call, comm.impl()->owner());
  (void)find_lost_peers(handle());  // acknowledges them: others can be heard again
  return true;
}

void Transfers::Impl::check_peer(int peer, std::size_t bytes, int tag) const {
  base::expects(comm.valid() && peer >= 0 && peer < comm.size() && peer != comm.rank(),
                "the peer is another rank of the communicator");
  base::expects(tag >= 0 && tag <= last_transfer_tag, "the tag is in range");
  base::expects(bytes <= longest_transfer, "long transfers are cut into pieces");
}

std::int64_t Transfers::Impl::add(const Operation& operation, MPI_Request request, int code,
                                  const char* call) {
  if (lost_peer(code, call)) {
    refused.push_back({operation.id, operation.peer, 0, Outcome::peer_lost});
  } else {
    requests.push_back(request);
    operations.push_back(operation);
  }
  return operation.id;
}

Transfers::Transfers(const Communicator& comm) : impl_(std::make_unique<Impl>(comm)) {}
Transfers::Transfers(Transfers&&) noexcept = default;

Transfers::~Transfers() {
  if (!impl_ || impl_->requests.empty() || !session_alive()) return;
  bool clean = true;
  for (std::size_t i = 0; i < impl_->requests.size(); ++i) clean = impl_->withdraw(i) && clean;
  if (clean) return;
  base::log_debug("transfers with '" + impl_->comm.name() + "' end before their time");
  mark_session_failed();
}

bool Transfers::Impl::withdraw(std::size_t place) {
  int done = 0;
  if (MPI_Test(&requests[place], &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done != 0) return true;
  if (operations[place].direction == Direction::send) return false;
  MPI_Cancel(&requests[place]);
  return MPI_Test(&requests[place], &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done != 0;
}

std::int64_t Transfers::send(std::span<const std::byte> from, int peer, int tag) {
  impl_->check_peer(peer, from.size(), tag);
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = MPI_Isend(from.data(), narrow<int>(from.size()), MPI_BYTE, peer, tag,
                             impl_->handle(), &request);
  return impl_->add({impl_->next_id++, peer, Direction::send, from.size()}, request, code,
                    "MPI_Isend");
}

std::int64_t Transfers::receive(std::span<std::byte> to, int peer, int tag) {
  impl_->check_peer(peer, to.size(), tag);
  MPI_Request request = MPI_REQUEST_NULL;
  const int code =
      MPI_Irecv(to.data(), narrow<int>(to.size()), MPI_BYTE, peer, tag, impl_->handle(), &request);
  return impl_->add({impl_->next_id++, peer, Direction::receive, to.size()}, request, code,
                    "MPI_Irecv");
}

std::span<const Transfers::Finished> Transfers::advance() {
  auto& all = *impl_;
  all.finished = std::exchange(all.refused, {});
  if (all.requests.empty()) return all.finished;
  const std::size_t pending = all.requests.size();
  all.places.resize(pending);
  all.statuses.resize(pending);
  int count = 0;
  const int code = MPI_Testsome(narrow<int>(pending), all.requests.data(), &count,
                                all.places.data(), all.statuses.data());
  // Each status has the code of its own transfer.
  if (code != MPI_SUCCESS && error_class(code) != MPI_ERR_IN_STATUS) {
    (void)all.lost_peer(code, "MPI_Testsome");
    return all.finished;
  }
  for (int i = 0; i < count; ++i) {
    const MPI_Status& status = all.statuses[static_cast<std::size_t>(i)];
    all.finish(all.places[static_cast<std::size_t>(i)], status,
               code == MPI_SUCCESS ? MPI_SUCCESS : status.MPI_ERROR);
  }
  if (count > 0) all.remove_finished();
  return all.finished;
}

void Transfers::Impl::finish(int place, const MPI_Status& status, int code) {
  Operation& operation = operations[static_cast<std::size_t>(place)];
  Finished& end = finished.emplace_back(Finished{operation.id, operation.peer, operation.bytes});
  operation.id = -1;
  requests[static_cast<std::size_t>(place)] = MPI_REQUEST_NULL;
  if (lost_peer(code, "MPI_Testsome")) {
    end.outcome = Outcome::peer_lost;
  } else if (operation.direction == Direction::receive) {
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    end.bytes = static_cast<std::size_t>(count);
  }
}

void Transfers::Impl::remove_finished() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (operations[i].id < 0) continue;
    operations[kept] = operations[i];
    requests[kept++] = requests[i];
  }
  operations.resize(kept);
  requests.resize(kept);
}

std::size_t Transfers::pending() const noexcept { return impl_->requests.size(); }

std::optional<Transfers::Arrival> Transfers::try_take(std::span<std::byte> to, int tag) {
  if (!impl_->comm.valid()) return std::nullopt;
  int found = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  const int code = MPI_Improbe(MPI_ANY_SOURCE, tag, impl_->handle(), &found, &message, &status);
  if (impl_->lost_peer(code, "MPI_Improbe") || found == 0) return std::nullopt;
  int count = 0;
  MPI_Get_count(&status, MPI_BYTE, &count);
  const Arrival arrival{status.MPI_SOURCE, static_cast<std::size_t>(count)};
  const bool fits = arrival.bytes <= to.size();
  // So short a message came whole with its head; a longer one may never come to its end.
  MPI_Request request = MPI_REQUEST_NULL;
  const int received = fits ? MPI_Mrecv(to.data(), count, MPI_BYTE, &message, MPI_STATUS_IGNORE)
                            : MPI_Imrecv(nullptr, 0, MPI_BYTE, &message, &request);
  if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  if (fits && impl_->lost_peer(received, "MPI_Mrecv")) return std::nullopt;
  return arrival;
}

}  // namespace physarum::parallel
