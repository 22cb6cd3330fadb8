#include "version_sender.hpp"

#include <algorithm>

#include "physarum/parallel/wait.hpp"

namespace physarum::weights {

VersionSender::VersionSender(const StoreLayout& layout, int buffer,
                             std::span<const std::byte> memory, StoreAccess& store, Ends ends)
    : layout_(layout),
      buffer_(buffer),
      source_(layout, buffer, memory, store),
      ends_(std::move(ends)) {}

bool VersionSender::advance() {
  bool any = ends_.stream.advance();
  any = forget_taken() || any;
  check_patience();
  const auto most = static_cast<std::size_t>(std::max<std::int64_t>(1, layout_.ring() - 1));
  if (under_way_.size() >= most) return any;
  const auto candidate = source_.next(sent_);
  return (candidate && send(*candidate)) || any;
}

bool VersionSender::forget_taken() {
  const std::size_t before = under_way_.size();
  while (!under_way_.empty() && ends_.stream.taken() >= under_way_.front().messages) {
    under_way_.pop_front();
  }
  return under_way_.size() < before;
}

void VersionSender::check_patience() const {
  if (under_way_.empty() || !under_way_.front().deadline.expired()) return;
  const UnderWay& oldest = under_way_.front();
  std::string late;
  for (const int rank : ends_.stream.awaited(oldest.messages)) {
    late += (late.empty() ? "" : ", ") +
            std::to_string(ends_.pull_ranks[static_cast<std::size_t>(rank)]);
  }
  const parallel::Phase phase("broadcast weights");
  parallel::throw_deadline("buffer rank " + std::to_string(buffer_),
                           "rank " + late + " in 'pull' to take weight version " +
                               std::to_string(oldest.version.value()),
                           oldest.deadline);
}

/// False: the version is not there any more.
bool VersionSender::send(const VersionSource::Candidate& candidate) {
  std::vector<VersionSource::Piece> pieces = source_.take(candidate);
  if (pieces.empty()) return false;
  VersionPart part;
  part.version = candidate.version.value();
  part.before = candidate.before.value();
  part.slot = candidate.slot;
  part.entry = candidate.entry;
  part.parts = std::ssize(pieces);
  for (VersionSource::Piece& piece : pieces) {
    part.offset = piece.offset;
    if (ends_.own != nullptr) {
      const auto to = ends_.own->place(buffer_, part, piece.bytes.size());
      std::copy(piece.bytes.begin(), piece.bytes.end(), to.begin());
      ends_.own->complete(buffer_, part);
    }
    ends_.stream.send(std::as_bytes(std::span(&part, 1)), std::move(piece.bytes));
    ++part.part;
  }
  sent_ = candidate.version;
  under_way_.push_back(
      {candidate.version, ends_.stream.sent(), base::Deadline::in(ends_.patience_s)});
  return true;
}

}  // namespace physarum::weights
