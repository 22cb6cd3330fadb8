#pragma once

#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "physarum/base/deadline.hpp"

#include "physarum/parallel/broadcast_stream.hpp"

#include "replica.hpp"
#include "store_access.hpp"
#include "store_layout.hpp"

namespace physarum::weights {

/// Brings each version from a buffer rank's window to all engines, once and in order. Versions that
/// cannot be sent yet wait in the window; what a newer full image makes needless is left out.
class VersionSender {
 public:
  struct Ends {
    parallel::BroadcastStream& stream;
    Replica* own;                 ///< of an engine on this rank; null: there is none
    std::vector<int> pull_ranks;  ///< of the stream's ranks, for messages
    double patience_s;            ///< longest time that engines may take for a version
  };
  VersionSender(const StoreLayout& layout, int buffer, std::span<const std::byte> memory,
                StoreAccess& store, Ends ends);

  /// A turn; true if it did something. Throws DeadlineExceeded naming the engines that are late.
  bool advance();
  /// Whether the engines' copies are on their way to this version: only then may its delta go into
  /// the full image here, and its place be used again.
  [[nodiscard]] bool has_sent(base::WeightVersion version) const { return version <= sent_; }

 private:
  struct Candidate {
    base::WeightVersion version;
    base::WeightVersion before;
    std::int64_t slot;   // -1: a delta
    std::int64_t entry;  // -1: a full image
  };
  struct Extent {
    std::uint64_t offset;
    std::size_t bytes;
  };
  struct UnderWay {
    base::WeightVersion version;
    std::int64_t messages;  // of the stream, up to the version's last
    base::Deadline deadline;
  };
  [[nodiscard]] bool forget_taken();
  void check_patience() const;
  [[nodiscard]] std::optional<Candidate> next() const;
  [[nodiscard]] bool still_there(const Candidate& candidate) const;
  [[nodiscard]] std::vector<Extent> extents(const Candidate& candidate) const;
  bool send(const Candidate& candidate);

  const StoreLayout& layout_;
  int buffer_;
  std::span<const std::byte> memory_;
  StoreAccess& store_;
  Ends ends_;
  base::WeightVersion sent_;
  std::deque<UnderWay> under_way_;
};

}  // namespace physarum::weights
