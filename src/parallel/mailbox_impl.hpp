#pragma once

#include <deque>
#include <list>
#include <map>
#include <set>

#include <mpi.h>

#include "physarum/parallel/mailbox.hpp"

#include "communicator_impl.hpp"

namespace physarum::parallel {

/// A message of more than piece_bytes travels as a head (its tag and length) and then pieces; MPI
/// keeps the order of one sender, so pieces follow their head.
enum MailTag : int { last_user_tag = 30000, tag_head = 32001, tag_piece = 32002 };

struct MailHead {
  std::int64_t tag = 0;
  std::uint64_t bytes = 0;
};

struct Outgoing {
  int peer = 0;
  MailHead head;
  Bytes bytes;
  std::vector<MPI_Request> requests;
};

struct Incoming {
  int peer = 0;
  int tag = 0;
  Bytes bytes;
  MPI_Request request = MPI_REQUEST_NULL;
};

/// A long message of one peer while its pieces come in.
struct Assembly {
  int tag = 0;
  Bytes bytes;
  std::size_t filled = 0;
};

/// Mail whose requests never completed; it lives until the process ends, for MPI may still read it.
[[nodiscard]] std::list<Outgoing>& abandoned_mail();

struct Mailbox::Impl {
  Impl(const Communicator& over, const MailboxOptions& given)
      : comm(over.duplicate("mailbox of " + over.name())), options(given) {}

  Communicator comm;
  MailboxOptions options;
  std::list<Outgoing> outgoing;  // a list: MPI holds addresses of the heads
  std::size_t pending_bytes = 0;
  std::deque<Incoming> incoming;  // under way, in the order of arrival
  std::map<int, Assembly> assemblies;
  std::deque<Message> inbox;  // complete
  std::set<int> lost;
  std::vector<int> newly_lost;

  [[nodiscard]] bool alone() const { return !comm.valid(); }
  [[nodiscard]] bool has_room(std::size_t bytes) const;

  void post(Outgoing& mail);
  bool advance_sends();
  bool accept_new();
  bool advance_receives();
  void deliver(Incoming& mail);
  /// Lost peers are noted; any other error is thrown.
  void note_error(int code, const char* call);
};

}  // namespace physarum::parallel
