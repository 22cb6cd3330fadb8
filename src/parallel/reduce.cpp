#include <algorithm>

#include "physarum/base/contracts.hpp"
#include "physarum/base/narrow.hpp"

#include "communicator_impl.hpp"
#include "pieces.hpp"
#include "requests.hpp"

// Own all-reduce instead of MPI_Allreduce: the values of rank 0, 1, 2, ... are folded in this order
// whatever the library, the message size or the placement; and it waits with a deadline. Short
// vectors are gathered everywhere and folded everywhere. Long ones are cut into one share per rank:
// every rank gathers and folds its share, then gives it to the others (the traffic of a ring).

namespace physarum::parallel {

using base::narrow;

namespace {
constexpr std::size_t short_bytes = 2048;          // per rank
constexpr std::size_t segment_bytes = 16UL << 20;  // bounds the scratch memory

template <class T>
void fold(T* into, const T* from, std::size_t count, Op op) {
  switch (op) {
    case Op::sum:
      for (std::size_t i = 0; i < count; ++i) into[i] = static_cast<T>(into[i] + from[i]);
      return;
    case Op::min:
      for (std::size_t i = 0; i < count; ++i) into[i] = std::min(into[i], from[i]);
      return;
    case Op::max:
      for (std::size_t i = 0; i < count; ++i) into[i] = std::max(into[i], from[i]);
      return;
  }
}

/// One rank's share of a segment.
struct Share {
  std::size_t begin, count;
};
Share share_of(std::size_t total, int rank, int ranks) {
  const auto cut = [&](int r) {
    return total / static_cast<std::size_t>(ranks) * static_cast<std::size_t>(r) +
           total % static_cast<std::size_t>(ranks) * static_cast<std::size_t>(r) /
               static_cast<std::size_t>(ranks);
  };
  return {cut(rank), cut(rank + 1) - cut(rank)};
}

template <class T>
void reduce_short(const Communicator::Impl& comm, std::span<T> values, Op op,
                  const base::Deadline& deadline) {
  Requests requests(comm, "all_reduce");
  const auto ranks = static_cast<std::size_t>(comm.size);
  // The own values are copied: `values` takes the result, and MPI may read them until the wait.
  T* all = reinterpret_cast<T*>(requests.keep(values.size_bytes() * ranks));
  const int bytes = narrow<int>(values.size_bytes());
  requests.check(MPI_Iallgather(values.data(), bytes, MPI_BYTE, all, bytes, MPI_BYTE,
                                comm.handle.get(), requests.add()),
                 "MPI_Iallgather");
  requests.wait(deadline);
  std::copy_n(all, values.size(), values.begin());
  for (std::size_t r = 1; r < ranks; ++r) {
    fold(values.data(), all + r * values.size(), values.size(), op);
  }
}

template <class T>
void send_share(Requests& requests, const Communicator::Impl& comm, const T* first,
                std::size_t count, int peer, int tag) {
  requests.check(MPI_Isend(first, narrow<int>(count * sizeof(T)), MPI_BYTE, peer, tag,
                           comm.handle.get(), requests.add()),
                 "MPI_Isend");
}
template <class T>
void receive_share(Requests& requests, const Communicator::Impl& comm, T* first, std::size_t count,
                   int peer, int tag) {
  requests.check(MPI_Irecv(first, narrow<int>(count * sizeof(T)), MPI_BYTE, peer, tag,
                           comm.handle.get(), requests.add()),
                 "MPI_Irecv");
}

/// Every rank folds its own share of everybody's values, in rank order.
template <class T>
void fold_own_share(const Communicator::Impl& comm, std::span<T> values, Op op,
                    const base::Deadline& deadline) {
  const Share own = share_of(values.size(), comm.rank, comm.size);
  Requests requests(comm, "all_reduce");
  T* all = reinterpret_cast<T*>(
      requests.keep(own.count * sizeof(T) * static_cast<std::size_t>(comm.size)));
  const auto slot = [&](int rank) { return all + own.count * static_cast<std::size_t>(rank); };
  for (int step = 1; step < comm.size; ++step) {  // start with the neighbour: no rank is stormed
    const int from = (comm.rank + comm.size - step) % comm.size;
    receive_share(requests, comm, slot(from), own.count, from, tag_scatter);
  }
  for (int step = 1; step < comm.size; ++step) {
    const int to = (comm.rank + step) % comm.size;
    const Share share = share_of(values.size(), to, comm.size);
    send_share(requests, comm, values.data() + share.begin, share.count, to, tag_scatter);
  }
  std::copy_n(values.data() + own.begin, own.count, slot(comm.rank));
  requests.wait(deadline);
  for (int rank = 1; rank < comm.size; ++rank) fold(all, slot(rank), own.count, op);
  std::copy_n(all, own.count, values.data() + own.begin);
}

template <class T>
void collect_shares(const Communicator::Impl& comm, std::span<T> values,
                    const base::Deadline& deadline) {
  const Share own = share_of(values.size(), comm.rank, comm.size);
  Requests requests(comm, "all_reduce");
  for (int step = 1; step < comm.size; ++step) {
    const int from = (comm.rank + comm.size - step) % comm.size;
    const Share share = share_of(values.size(), from, comm.size);
    receive_share(requests, comm, values.data() + share.begin, share.count, from, tag_collect);
  }
  for (int step = 1; step < comm.size; ++step) {
    const int to = (comm.rank + step) % comm.size;
    send_share(requests, comm, values.data() + own.begin, own.count, to, tag_collect);
  }
  requests.wait(deadline);
}
}  // namespace

template <Reducible T>
void Communicator::all_reduce(std::span<T> values, Op op, const Until& until) const {
  if (!impl_ || size() == 1 || values.empty()) return;
  const auto deadline = impl_->deadline(until);
  if (values.size_bytes() <= short_bytes) return reduce_short(*impl_, values, op, deadline);
  const std::size_t segment = std::min(segment_bytes, piece_limit()) / sizeof(T);
  for_each_piece(values.size(), segment, [&](std::size_t begin, std::size_t count) {
    const auto part = values.subspan(begin, count);
    fold_own_share(*impl_, part, op, deadline);
    collect_shares(*impl_, part, deadline);
  });
}

template void Communicator::all_reduce(std::span<float>, Op, const Until&) const;
template void Communicator::all_reduce(std::span<double>, Op, const Until&) const;
template void Communicator::all_reduce(std::span<std::int64_t>, Op, const Until&) const;
template void Communicator::all_reduce(std::span<std::uint8_t>, Op, const Until&) const;

}  // namespace physarum::parallel
