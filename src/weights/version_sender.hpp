#pragma once

#include <deque>
#include <span>
#include <vector>

#include "physarum/base/deadline.hpp"

#include "physarum/parallel/broadcast_stream.hpp"

#include "replica.hpp"
#include "store_access.hpp"
#include "store_layout.hpp"
#include "version_source.hpp"

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
  struct UnderWay {
    base::WeightVersion version;
    std::int64_t messages;  // of the stream, up to the version's last
    base::Deadline deadline;
  };
  [[nodiscard]] bool forget_taken();
  void check_patience() const;
  bool send(const VersionSource::Candidate& candidate);

  const StoreLayout& layout_;
  int buffer_;
  VersionSource source_;
  Ends ends_;
  base::WeightVersion sent_;
  std::deque<UnderWay> under_way_;
};

}  // namespace physarum::weights
