#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace physarum::parallel {

/// A collective cannot complete because a member of its communicator died. Thrown only by
/// collectives, where there is no way on but the job's end; mailboxes return lost peers instead.
class PeerLost : public std::runtime_error {
 public:
  PeerLost(std::string_view call, std::string_view communicator, std::vector<int> lost);
  /// Ranks of the communicator that are known to be dead; may be empty.
  [[nodiscard]] const std::vector<int>& lost() const { return lost_; }

 private:
  std::vector<int> lost_;
};

/// True if this build can tell a lost peer from an error (ULFM). Without, any death ends the job.
[[nodiscard]] bool can_lose_peers() noexcept;

}  // namespace physarum::parallel
