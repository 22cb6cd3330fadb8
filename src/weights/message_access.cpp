#include "message_access.hpp"

#include <algorithm>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"

#include "physarum/parallel/wait.hpp"

#include "store_words.hpp"

namespace physarum::weights {
namespace {

std::string text_of(const WeightRefusal& refusal) {
  switch (refusal.reason) {
    case WeightRefusal::outside:
      return std::to_string(refusal.request.bytes) + " bytes from " +
             std::to_string(refusal.request.offset) + " on are not in its memory";
    case WeightRefusal::too_many:
      return "too many requests at a time";
    case WeightRefusal::silent:
      return "this engine took nothing of what it had asked for, for too long";
    default:  // malformed
      return "not a request";
  }
}

}  // namespace

MessageAccess::MessageAccess(const parallel::Communicator& comm, int buffer_ranks,
                             MessageServer* own, const MessageLimits& limits)
    : comm_(comm),
      own_(own),
      limits_(limits),
      lanes_(static_cast<std::size_t>(buffer_ranks)),
      transfers_(comm) {}

void MessageAccess::put(std::span<const std::byte>, int, std::uint64_t) {
  base::expects(false, "engines put nothing into the store");
}

void MessageAccess::get(std::span<std::byte> to, int buffer, std::uint64_t offset) {
  if (to.empty()) return;
  if (own_ != nullptr && buffer == comm_.rank()) return own_->read(to, offset);
  auto& wishes = lanes_.at(static_cast<std::size_t>(buffer)).wishes;
  if (!wishes.empty()) {
    Wish& last = wishes.back();
    if (last.request.kind == WeightRequest::get && last.to.data() + last.to.size() == to.data() &&
        last.request.offset + last.request.bytes == offset) {
      last.request.bytes += to.size();
      last.to = {last.to.data(), last.to.size() + to.size()};
      return;
    }
  }
  wishes.push_back({{WeightRequest::get, offset, to.size()}, to});
}

void MessageAccess::flush(const base::Deadline& deadline) {
  if (idle()) return;
  const bool all = parallel::wait_until([this] { return idle(); }, deadline,
                                        [this] {
                                          const bool served = own_ != nullptr && own_->serve();
                                          return turn() || served;
                                        });
  if (!all) parallel::throw_deadline(comm_.describe(), describe_missing(), deadline);
  if (transfers_.pending() == 0) requests_.clear();
}

bool MessageAccess::turn() {
  bool did = false;
  for (int buffer = 0; buffer < static_cast<int>(lanes_.size()); ++buffer) {
    did = send_requests(buffer) || did;
  }
  const auto finished = transfers_.advance();
  for (const auto& end : finished) note_end(end);
  if (finished.empty() && !did) look_for_refusal();
  return did || !finished.empty();
}

bool MessageAccess::send_requests(int buffer) {
  Lane& lane = lanes_[static_cast<std::size_t>(buffer)];
  bool did = false;
  while (!lane.wishes.empty() && lane.unanswered < limits_.most_requests) {
    send_request(buffer, lane.wishes.front());
    lane.wishes.pop_front();
    did = true;
  }
  return did;
}

/// The receives first: an answer finds its place and is not copied.
void MessageAccess::send_request(int buffer, const Wish& wish) {
  Lane& lane = lanes_[static_cast<std::size_t>(buffer)];
  for (std::size_t done = 0; done < wish.to.size(); done += limits_.piece_bytes) {
    const auto piece = wish.to.subspan(done, std::min(limits_.piece_bytes, wish.to.size() - done));
    const bool is_last = done + piece.size() == wish.to.size();
    const auto id = transfers_.receive(piece, buffer, tag_data);
    pieces_.emplace(id, Piece{buffer, piece.size(), is_last});
  }
  ++lane.unanswered;
  lane.bytes_due += wish.to.size();
  WeightRequest& request = requests_.emplace_back(wish.request);
  transfers_.send(std::as_bytes(std::span(&request, 1)), buffer, tag_request);
}

void MessageAccess::note_end(const parallel::Transfers::Finished& end) {
  if (end.outcome == parallel::Transfers::Outcome::peer_lost) {
    throw base::WorldError("read of the weight store", end.peer,
                           "buffer rank " + std::to_string(end.peer) + " is lost");
  }
  const auto found = pieces_.find(end.id);
  if (found == pieces_.end()) return;  // a request went out
  const Piece piece = found->second;
  pieces_.erase(found);
  if (end.bytes != piece.bytes) {
    throw base::WorldError("read of the weight store", end.peer,
                           "buffer rank " + std::to_string(end.peer) + " sent " +
                               std::to_string(end.bytes) + " bytes instead of " +
                               std::to_string(piece.bytes));
  }
  Lane& lane = lanes_[static_cast<std::size_t>(piece.buffer)];
  lane.bytes_due -= piece.bytes;
  if (piece.is_last) --lane.unanswered;
}

void MessageAccess::look_for_refusal() {
  WeightRefusal refusal;
  const auto found =
      transfers_.try_take(std::as_writable_bytes(std::span(&refusal, 1)), tag_refusal);
  if (!found) return;
  throw base::WorldError(
      "read of the weight store", found->peer,
      "buffer rank " + std::to_string(found->peer) + " refuses: " + text_of(refusal));
}

bool MessageAccess::idle() const {
  return std::all_of(lanes_.begin(), lanes_.end(),
                     [](const Lane& lane) { return lane.wishes.empty() && lane.unanswered == 0; });
}

std::string MessageAccess::describe_missing() const {
  std::string text;
  for (std::size_t buffer = 0; buffer < lanes_.size(); ++buffer) {
    if (lanes_[buffer].unanswered == 0) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(lanes_[buffer].bytes_due) +
            " bytes of weights from buffer rank " + std::to_string(buffer);
  }
  return text;
}

std::uint64_t MessageAccess::load(int buffer, std::int64_t word) {
  get(std::as_writable_bytes(std::span(&word_, 1)), buffer, StoreWords::offset(word));
  flush(base::Deadline::in(limits_.patience_s));
  return word_;
}

void MessageAccess::store(int buffer, std::int64_t word, std::uint64_t value) {
  base::expects(word == StoreWords::wanted && value == 1, "engines set no other word");
  if (own_ != nullptr && buffer == comm_.rank()) return own_->want_full();
  lanes_.at(static_cast<std::size_t>(buffer))
      .wishes.push_back({{WeightRequest::want_full}, std::as_writable_bytes(std::span(&word_, 1))});
  flush(base::Deadline::in(limits_.patience_s));
}

}  // namespace physarum::weights
