#include "weight_follower.hpp"

#include <utility>

namespace physarum::rollout {

namespace {
/// A pull moves an image once; a store that does not answer for so long is gone.
constexpr double patience_s = 600;
}  // namespace

WeightFollower::WeightFollower(weights::Puller& puller, weights::CataloguePtr catalogue)
    : puller_(puller), image_(std::move(catalogue)) {}

WeightFollower::~WeightFollower() { puller_.abandon(); }

void WeightFollower::begin(std::optional<base::WeightVersion> exactly) {
  deadline_ = base::Deadline::in(patience_s);
  puller_.begin(image_, exactly);
}

std::optional<weights::PullResult> WeightFollower::advance(std::int64_t budget_bytes) {
  auto result = puller_.advance(budget_bytes, *deadline_);
  if (!result) return result;
  ++figures_.pulls;
  figures_.deltas += result->deltas;
  figures_.wire_bytes += result->wire_bytes;
  figures_.retries += result->retries;
  figures_.failures += result->failures;
  figures_.pull_s += result->seconds;
  figures_.get_s += result->get_s;
  figures_.apply_s += result->apply_s;
  return result;
}

}  // namespace physarum::rollout
