#include "message_server.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "physarum/base/contracts.hpp"
#include "physarum/base/logging.hpp"

#include "physarum/parallel/wait.hpp"

#include "store_words.hpp"

namespace physarum::weights {
namespace {

constexpr int most_requests_a_turn = 64;
/// A turn that comes later than this was late by this rank's own doing.
constexpr double longest_turn_s = 1;

const char* reason_text(std::uint64_t reason) {
  switch (reason) {
    case WeightRefusal::outside:
      return "it asked for memory that is not there";
    case WeightRefusal::too_many:
      return "it has more unanswered requests than it may";
    case WeightRefusal::silent:
      return "it took nothing of what it had asked for";
    default:  // malformed
      return "it sent something that is no request";
  }
}

constexpr WeightRequest word_wanted{WeightRequest::get, StoreWords::offset(StoreWords::wanted), 8};

}  // namespace

MessageServer::MessageServer(const parallel::Communicator& comm, std::span<std::byte> memory,
                             std::shared_ptr<void> owner, StoreAccess& store,
                             const MessageLimits& limits)
    : memory_(memory),
      owner_(std::move(owner)),
      store_(store),
      limits_(limits),
      buffer_(comm.rank()),
      transfers_(comm) {}

MessageServer::~MessageServer() {
  if (transfers_.pending() == 0) return;
  static_cast<void>(new std::shared_ptr<void>(owner_));  // MPI may read it until the process ends
}

bool MessageServer::serve() {
  tick();
  bool did = collect();
  did = take_requests() || did;
  for (auto& [peer, engine] : engines_) did = answer(peer, engine) || did;
  return drop_silent() || did;
}

void MessageServer::tick() { served_s_ += std::min(watch_.restart(), longest_turn_s); }

bool MessageServer::take_requests() {
  int turn = 0;
  for (; turn < most_requests_a_turn; ++turn) {
    WeightRequest request;
    const auto found =
        transfers_.try_take(std::as_writable_bytes(std::span(&request, 1)), tag_request);
    if (!found) break;
    take(found->peer, request, found->bytes);
  }
  return turn > 0;
}

void MessageServer::take(int peer, const WeightRequest& request, std::size_t bytes) {
  Engine& engine = engines_[peer];
  if (engine.dropped) return;
  const bool known = request.kind == WeightRequest::get || request.kind == WeightRequest::want_full;
  if (bytes != sizeof request || !known) {
    return drop(peer, engine, WeightRefusal::malformed, request);
  }
  if (request.kind == WeightRequest::get && !inside(request)) {
    return drop(peer, engine, WeightRefusal::outside, request);
  }
  if (engine.requests.size() >= limits_.most_requests) {
    return drop(peer, engine, WeightRefusal::too_many, request);
  }
  if (engine.under_way == 0 && engine.requests.empty()) engine.last_taken_s = served_s_;
  if (request.kind == WeightRequest::want_full) want_full();
  engine.requests.push_back(request.kind == WeightRequest::get ? request : word_wanted);
}

bool MessageServer::inside(const WeightRequest& request) const {
  const std::uint64_t size = memory_.size();
  return request.bytes > 0 && request.offset <= size && request.bytes <= size - request.offset;
}

/// What engines have taken gives them new credit.
bool MessageServer::collect() {
  const auto finished = transfers_.advance();
  for (const auto& end : finished) {
    if (refusals_.erase(end.id) > 0) continue;
    Engine& engine = engines_.at(end.peer);
    engine.under_way -= std::min(engine.under_way, end.bytes);
    engine.last_taken_s = served_s_;
    if (end.outcome == parallel::Transfers::Outcome::peer_lost && !engine.dropped) {
      engine.dropped = true;
      engine.requests.clear();
      ++dropped_;
      base::log_warning("weight store: the engine on rank " + std::to_string(end.peer) +
                        " of the engines' communicator is lost");
    }
  }
  return !finished.empty();
}

bool MessageServer::answer(int peer, Engine& engine) {
  bool did = false;
  while (
      !engine.requests.empty() &&
      (engine.under_way == 0 || engine.under_way + limits_.piece_bytes <= limits_.credit_bytes)) {
    const WeightRequest& request = engine.requests.front();
    const auto bytes = static_cast<std::size_t>(
        std::min<std::uint64_t>(limits_.piece_bytes, request.bytes - engine.sent));
    if (!did) store_.sync();
    transfers_.send(memory_.subspan(static_cast<std::size_t>(request.offset + engine.sent), bytes),
                    peer, tag_data);
    engine.under_way += bytes;
    engine.sent += bytes;
    if (engine.sent == request.bytes) {
      engine.requests.pop_front();
      engine.sent = 0;
    }
    did = true;
  }
  return did;
}

bool MessageServer::drop_silent() {
  bool any = false;
  for (auto& [peer, engine] : engines_) {
    if (engine.dropped || engine.under_way == 0) continue;
    if (served_s_ - engine.last_taken_s < limits_.silence_s) continue;
    const WeightRequest first = engine.requests.empty() ? WeightRequest{} : engine.requests.front();
    drop(peer, engine, WeightRefusal::silent, first);
    any = true;
  }
  return any;
}

void MessageServer::drop(int peer, Engine& engine, WeightRefusal::Reason reason,
                         const WeightRequest& request) {
  engine.dropped = true;
  engine.requests.clear();
  ++dropped_;
  base::log_warning("weight store: the engine on rank " + std::to_string(peer) +
                    " of the engines' communicator gets no more weights: " + reason_text(reason));
  engine.refusal = {reason, request};
  refusals_.insert(
      transfers_.send(std::as_bytes(std::span(&engine.refusal, 1)), peer, tag_refusal));
}

bool MessageServer::idle() const {
  return std::all_of(engines_.begin(), engines_.end(), [](const auto& entry) {
    const Engine& engine = entry.second;
    return engine.dropped || (engine.requests.empty() && engine.under_way == 0);
  });
}

void MessageServer::finish(const base::Deadline& deadline) {
  const bool all =
      parallel::wait_until([this] { return idle(); }, deadline, [this] { return serve(); });
  if (!all) base::log_warning("weight store: an engine did not take what it had asked for");
  (void)transfers_.advance();  // what dropped engines have taken after all
}

void MessageServer::read(std::span<std::byte> to, std::uint64_t offset) {
  base::expects(inside({WeightRequest::get, offset, to.size()}), "the range lies in the memory");
  store_.sync();
  std::memcpy(to.data(), memory_.data() + offset, to.size());
}

void MessageServer::want_full() { store_.store(buffer_, StoreWords::wanted, 1); }

}  // namespace physarum::weights
