#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "physarum/exchange/messages.hpp"

#include "group_desk.hpp"
#include "server_context.hpp"

namespace physarum::buffer {

/// The head's care for groups that were taken: they are written to a file, if asked, by all buffer
/// ranks together. One file at a time. A batch is released everywhere when it has also been learnt
/// from; until then a checkpoint may need it. Evaluations are released at once.
///
/// The head enters the collective write last: it orders the others in, and only when each has said
/// that it is entering does it enter itself. So the head never waits there for a rank that is busy
/// elsewhere.
class RetireDesk {
 public:
  RetireDesk(ServerContext& context, GroupDesk& groups) : context_(context), groups_(groups) {}

  /// The file holds these groups; `file_name` is within the archive directory. Batches of
  /// Purpose::evaluate and those without trainers are released when they are written.
  void retire(std::int64_t step, sample::Purpose purpose, std::string file_name,
              std::vector<base::GroupId> groups);
  void ready(WorldRank buffer, std::int64_t step);
  /// The batch of this step has been learnt from.
  void learnt(std::int64_t step);
  /// Groups of batches of `step` and later: taken, not learnt from. Ascending.
  [[nodiscard]] std::vector<base::GroupId> held_from(std::int64_t step) const;
  /// One turn; waits only inside the collective write.
  bool advance();
  [[nodiscard]] bool idle() const { return orders_.empty(); }
  [[nodiscard]] std::string describe() const;

 private:
  void order_in();
  void put_aside();
  ServerContext& context_;
  GroupDesk& groups_;
  std::deque<exchange::ArchiveOrder> orders_;
  bool ordered_ = false;         ///< the others were ordered in for the first order
  std::set<WorldRank> awaited_;  ///< those that are not entering yet
  std::map<std::int64_t, std::vector<base::GroupId>> held_;  ///< written, not learnt from, by step
  std::int64_t learnt_ = -1;                                 ///< the last step that was
};

}  // namespace physarum::buffer
