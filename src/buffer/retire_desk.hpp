#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "physarum/exchange/messages.hpp"

#include "group_desk.hpp"
#include "server_context.hpp"

namespace physarum::buffer {

/// The head's care for groups that nobody needs any more: they are written to a file, if asked, by
/// all buffer ranks together, and then released everywhere. One file at a time.
///
/// The head enters the collective write last: it orders the others in, and only when each has said
/// that it is entering does it enter itself. So the head never waits there for a rank that is busy
/// elsewhere.
class RetireDesk {
 public:
  RetireDesk(ServerContext& context, GroupDesk& groups) : context_(context), groups_(groups) {}

  /// The file holds these groups; `file_name` is within the archive directory.
  void retire(std::int64_t step, sample::Purpose purpose, std::string file_name,
              std::vector<base::GroupId> groups);
  void ready(WorldRank buffer, std::int64_t step);
  /// One turn; waits only inside the collective write.
  bool advance();
  [[nodiscard]] bool idle() const { return orders_.empty(); }
  [[nodiscard]] std::string describe() const;

 private:
  void order_in();
  void release();
  ServerContext& context_;
  GroupDesk& groups_;
  std::deque<exchange::ArchiveOrder> orders_;
  bool ordered_ = false;         ///< the others were ordered in for the first order
  std::set<WorldRank> awaited_;  ///< those that are not entering yet
};

}  // namespace physarum::buffer
