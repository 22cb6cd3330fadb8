#include "physarum/parallel/broadcast_stream.hpp"

#include <algorithm>
#include <deque>
#include <limits>

#include <mpi.h>

#include "physarum/base/contracts.hpp"
#include "physarum/base/logging.hpp"
#include "physarum/base/narrow.hpp"

#include "physarum/parallel/mailbox.hpp"
#include "physarum/parallel/wait.hpp"

#include "communicator_impl.hpp"
#include "handles.hpp"
#include "pieces.hpp"
#include "requests.hpp"

// A message is a broadcast of its record (length of the body, head), then one of each piece of the
// body. All ranks start them in this order. A receiver tells the root by mail how many messages it
// has taken.

namespace physarum::parallel {

using base::narrow;

namespace {
/// Stands where a length would: no message follows.
constexpr std::uint64_t the_end = std::numeric_limits<std::uint64_t>::max();
constexpr int tag_taken = 1;

std::string names_of(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank" : "ranks";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    text += (i == 0 ? " " : ", ") + std::to_string(ranks[i]);
  }
  return text;
}
}  // namespace

struct BroadcastStream::Impl {
  /// What MPI reads or writes until the requests are complete.
  struct Transfer {
    Bytes record;
    Bytes body;  // the root's; a receiver's body has its place elsewhere
    std::vector<MPI_Request> requests;
  };
  enum class Stage { record, body, ended };

  Impl(Communicator over, const BroadcastOptions& given, BroadcastReceiver to)
      : comm(std::move(over)),
        answers(comm),
        options(given),
        receiver(std::move(to)),
        taken(static_cast<std::size_t>(comm.size())) {}

  [[nodiscard]] bool is_root() const { return comm.rank() == options.root; }
  void start(std::span<std::byte> bytes, Transfer& transfer);
  void start_pieces(std::span<std::byte> body, Transfer& transfer);
  [[nodiscard]] bool complete(Transfer& transfer) const;
  void send_record(std::uint64_t length, std::span<const std::byte> head, Bytes&& body);
  void await_record();
  bool advance_root();
  bool advance_receiver();
  void read_record();
  bool answer();
  [[nodiscard]] std::int64_t taken_by_all() const;
  [[nodiscard]] std::span<const std::byte> head() const {
    return std::span<const std::byte>(incoming.record).subspan(sizeof(std::uint64_t));
  }

  Communicator comm;
  Mailbox answers;
  BroadcastOptions options;
  BroadcastReceiver receiver;

  std::deque<Transfer> outgoing;
  std::int64_t sent = 0;
  std::vector<std::int64_t> taken;  // by rank

  Transfer incoming;
  Stage stage = Stage::record;
  std::int64_t received = 0;
  std::int64_t answered = 0;
};

void BroadcastStream::Impl::start(std::span<std::byte> bytes, Transfer& transfer) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Ibcast(bytes.data(), narrow<int>(bytes.size()), MPI_BYTE, options.root,
                   comm.impl()->handle.get(), &request),
        "MPI_Ibcast", comm.impl()->owner());
  transfer.requests.push_back(request);
}

void BroadcastStream::Impl::start_pieces(std::span<std::byte> body, Transfer& transfer) {
  for_each_piece(body.size(), options.piece_bytes, [&](std::size_t begin, std::size_t count) {
    start(body.subspan(begin, count), transfer);
  });
}

bool BroadcastStream::Impl::complete(Transfer& transfer) const {
  int done = 0;
  check(MPI_Testall(narrow<int>(transfer.requests.size()), transfer.requests.data(), &done,
                    MPI_STATUSES_IGNORE),
        "MPI_Testall", comm.impl()->owner());
  if (done != 0) transfer.requests.clear();
  return done != 0;
}

void BroadcastStream::Impl::send_record(std::uint64_t length, std::span<const std::byte> head,
                                        Bytes&& body) {
  ++sent;
  if (comm.size() == 1) return;
  Transfer& transfer = outgoing.emplace_back();
  transfer.record.resize(sizeof length + options.head_bytes);
  std::memcpy(transfer.record.data(), &length, sizeof length);
  std::copy(head.begin(), head.end(), transfer.record.begin() + sizeof length);
  transfer.body = std::move(body);
  start(transfer.record, transfer);
  start_pieces(transfer.body, transfer);
}

void BroadcastStream::Impl::await_record() {
  incoming.record.resize(sizeof(std::uint64_t) + options.head_bytes);
  stage = Stage::record;
  start(incoming.record, incoming);
}

bool BroadcastStream::Impl::advance_root() {
  bool any = false;
  while (!outgoing.empty() && complete(outgoing.front())) {
    outgoing.pop_front();
    any = true;
  }
  while (const auto answer = answers.try_receive()) {
    base::invariant(answer->bytes.size() == sizeof(std::int64_t), "an answer is a number");
    std::memcpy(&taken[static_cast<std::size_t>(answer->peer)], answer->bytes.data(),
                sizeof(std::int64_t));
    any = true;
  }
  return any;
}

bool BroadcastStream::Impl::advance_receiver() {
  bool any = answer();
  while (stage != Stage::ended && complete(incoming)) {
    any = true;
    if (stage == Stage::record) {
      read_record();
      continue;
    }
    receiver.complete(head());
    ++received;
    await_record();
    break;
  }
  return answer() || any;
}

void BroadcastStream::Impl::read_record() {
  std::uint64_t length = 0;
  std::memcpy(&length, incoming.record.data(), sizeof length);
  if (length == the_end) {
    ++received;
    stage = Stage::ended;
    return;
  }
  const auto body = receiver.place(head(), static_cast<std::size_t>(length));
  base::ensures(body.size() == length, "a message's place is as long as its body");
  start_pieces(body, incoming);
  stage = Stage::body;
}

/// A number covers all before it: should the mailbox be full, a later one does.
bool BroadcastStream::Impl::answer() {
  if (answered == received) {
    answers.advance();
    return false;
  }
  Bytes bytes(sizeof received);
  std::memcpy(bytes.data(), &received, sizeof received);
  if (answers.send(options.root, tag_taken, std::move(bytes)) == SendResult::full) return false;
  answered = received;
  return true;
}

std::int64_t BroadcastStream::Impl::taken_by_all() const {
  std::int64_t least = sent;
  for (int rank = 0; rank < comm.size(); ++rank) {
    if (rank != options.root) least = std::min(least, taken[static_cast<std::size_t>(rank)]);
  }
  return least;
}

BroadcastStream::BroadcastStream(Communicator comm, const BroadcastOptions& options,
                                 BroadcastReceiver receiver) {
  base::expects(options.root >= 0 && options.root < comm.size() && options.piece_bytes > 0,
                "a stream has a root and pieces");
  impl_ = std::make_unique<Impl>(std::move(comm), options, std::move(receiver));
  if (!impl_->is_root()) impl_->await_record();
}

BroadcastStream::~BroadcastStream() {
  if (!impl_ || (impl_->outgoing.empty() && impl_->incoming.requests.empty())) return;
  // Only after a failure or by our own mistake: MPI still uses the buffers.
  base::log_debug("a broadcast stream ends with messages under way");
  mark_session_failed();
  keep_forever(std::move(impl_->incoming.record));
  for (auto& transfer : impl_->outgoing) {
    keep_forever(std::move(transfer.record));
    keep_forever(std::move(transfer.body));
  }
}

BroadcastStream::BroadcastStream(BroadcastStream&&) noexcept = default;

int BroadcastStream::rank() const noexcept { return impl_->comm.rank(); }
bool BroadcastStream::is_root() const noexcept { return impl_->is_root(); }
std::int64_t BroadcastStream::sent() const noexcept { return impl_->sent; }
std::int64_t BroadcastStream::taken() const noexcept { return impl_->taken_by_all(); }

std::vector<int> BroadcastStream::awaited(std::int64_t messages) const {
  std::vector<int> late;
  for (int rank = 0; rank < impl_->comm.size(); ++rank) {
    if (rank == impl_->options.root) continue;
    if (impl_->taken[static_cast<std::size_t>(rank)] < messages) late.push_back(rank);
  }
  return late;
}

void BroadcastStream::send(std::span<const std::byte> head, base::Bytes body) {
  base::expects(is_root(), "only the root of a stream sends");
  base::expects(head.size() == impl_->options.head_bytes, "heads have the stream's length");
  impl_->send_record(body.size(), head, std::move(body));
}

bool BroadcastStream::advance() {
  if (impl_->comm.size() == 1) return false;
  return is_root() ? impl_->advance_root() : impl_->advance_receiver();
}

void BroadcastStream::close(const base::Deadline& deadline) {
  if (!impl_) return;
  Impl& mine = *impl_;
  if (is_root()) mine.send_record(the_end, {}, {});
  const auto finished = [&] {
    return is_root() ? mine.outgoing.empty() && taken() == sent()
                     : mine.stage == Impl::Stage::ended && mine.answered == mine.received &&
                           mine.answers.pending() == 0;
  };
  if (!wait_until(finished, deadline, [&] { return advance(); })) {
    throw_deadline(
        mine.comm.describe(),
        is_root() ? names_of(awaited(sent())) + " to take what was broadcast"
                  : "the end of what rank " + std::to_string(mine.options.root) + " broadcasts",
        deadline);
  }
  mine.answers.close();
  mine.comm.close();
  impl_.reset();
}

}  // namespace physarum::parallel
