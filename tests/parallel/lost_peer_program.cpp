// The last rank is killed; the others must see it in their mailboxes, go on with one another, and
// get PeerLost from a collective. Prints one line per surviving rank; run with `jobs/launch
// --with-ft`.

#include <csignal>
#include <cstdio>
#include <set>

#include "physarum/parallel/error.hpp"
#include "physarum/parallel/mailbox.hpp"
#include "physarum/parallel/session.hpp"
#include "physarum/parallel/wait.hpp"

namespace {
using namespace physarum::parallel;
using physarum::base::Deadline;

/// A mailbox that remembers which tags have come: a peer that sees the loss sooner sends sooner,
/// and what it sent must not be dropped by whoever waits for something else.
class Inbox {
 public:
  explicit Inbox(Mailbox& box) : box_(box) {}
  bool receive(int tag) {
    return wait_until([&] { return poll(), tags_.contains(tag); }, Deadline::in(60));
  }
  bool sees_the_loss(int victim) {
    return wait_until([&] { return poll(), box_.is_lost(victim); }, Deadline::in(60));
  }

 private:
  void poll() {
    if (const auto message = box_.try_receive()) tags_.insert(message->tag);
  }
  Mailbox& box_;
  std::set<int> tags_;
};

bool collective_throws(const Communicator& world) {
  try {
    world.barrier(Deadline::in(60));
  } catch (const PeerLost&) {
    return !world.intact();
  }
  return false;
}

int survive(Communicator& world, Mailbox& box) {
  const int victim = world.size() - 1;
  const int peer = 1 - world.rank();
  Inbox inbox(box);
  const bool seen = inbox.sees_the_loss(victim);
  const bool told = box.take_lost_peers() == std::vector<int>{victim};
  const bool dropped = box.send(victim, 0, Bytes(5 << 20)) == SendResult::peer_lost;
  const bool sent = box.send(peer, 1, Bytes(1 << 20)) == SendResult::sent;
  const bool received = inbox.receive(1);
  const bool thrown = collective_throws(world);
  // Nobody leaves before the other is through: a rank that leaves is lost too.
  const bool waved =
      box.send(peer, 2, {}) == SendResult::sent && box.flush(Deadline::in(60)) && inbox.receive(2);
  const bool good = seen && told && dropped && sent && received && thrown && waved;
  std::fprintf(stderr, "rank %d: %s (%d%d%d%d%d%d%d)\n", world.rank(), good ? "survived" : "failed",
               seen, told, dropped, sent, received, thrown, waved);
  return good ? 0 : 1;
}
}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv);
  auto& world = session.world();
  Mailbox box(world);
  world.barrier();
  if (world.rank() == world.size() - 1) std::raise(SIGKILL);
  leave(survive(world, box));
}
