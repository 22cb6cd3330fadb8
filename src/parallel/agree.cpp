#include "physarum/parallel/agree.hpp"

namespace physarum::parallel {

LocalFailure describe_failure(const std::exception& error) {
  const bool user = dynamic_cast<const base::UserError*>(&error) != nullptr;
  return {user ? FailureKind::user : FailureKind::world, error.what()};
}

namespace {
/// Lower is told first: the user's errors in rank order, then the world's, then "none".
std::int64_t urgency(const std::optional<LocalFailure>& failure, int rank, int ranks) {
  if (!failure) return std::int64_t{2} * ranks;
  return failure->kind == FailureKind::user ? rank : ranks + rank;
}
}  // namespace

void agree_or_throw(const Communicator& comm, const std::optional<LocalFailure>& mine,
                    const Until& until) {
  const int ranks = comm.size();
  const auto first = comm.all_reduce_value(urgency(mine, comm.rank(), ranks), Op::min, until);
  if (first == std::int64_t{2} * ranks) return;
  const int root = static_cast<int>(first % ranks);
  std::string text = mine ? mine->text : std::string();
  comm.broadcast_string(text, root, until);
  if (first < ranks) throw base::UserError(text, "", "");
  throw base::WorldError("rank " + std::to_string(root) + " in '" + comm.name() + "'", 0, text);
}

}  // namespace physarum::parallel
