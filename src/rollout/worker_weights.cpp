// Which weights the engine works with, and when it changes them.

#include <algorithm>

#include "physarum/base/logging.hpp"

#include "rollout_worker_impl.hpp"

namespace physarum::rollout {

namespace {
/// Between two decode steps; about as long as a step of a small model. An idle engine has nothing
/// better to do.
constexpr std::int64_t busy_slice_bytes = std::int64_t{1} << 20;
constexpr std::int64_t idle_slice_bytes = std::int64_t{64} << 20;
}  // namespace

RolloutWorker::Impl::Fit RolloutWorker::Impl::fit_of(const LeaseWork& work) const {
  if (!work.generates()) return Fit::now;
  const auto has = engine_.version();
  const auto wanted = work.lease().version;
  if (work.holds_weights() && has != wanted) {
    return has > wanted || gone_ == wanted ? Fit::never : Fit::later;
  }
  return has.valid() && has >= wanted ? Fit::now : Fit::later;
}

bool RolloutWorker::Impl::weights_are_held() const {
  return std::any_of(in_flight_.begin(), in_flight_.end(),
                     [](const auto& work) { return work.holds_weights(); });
}

/// Nothing is pulled without a lease that is or will be answered by it: which version is wanted
/// next, only the lease says.
void RolloutWorker::Impl::ask_for_weights() {
  if (weights_are_held()) return;
  const auto has = engine_.version();
  const auto waits = std::find_if(waiting_.begin(), waiting_.end(),
                                  [this](const auto& work) { return fit_of(work) == Fit::later; });
  if (waits != waiting_.end() && waits->holds_weights()) {
    exactly_ = waits->lease().version;
    return follower_.begin(exactly_);
  }
  const bool newer = !in_flight_.empty() && partners_.work.newest_version() > has;
  if (waits == waiting_.end() && !newer) return;
  exactly_.reset();
  follower_.begin(exactly_);
}

bool RolloutWorker::Impl::follow_weights() {
  if (!follower_.pulling()) ask_for_weights();
  if (!follower_.pulling()) return false;
  const bool idle = engine_.unfinished() == 0;
  if (const auto result = follower_.advance(idle ? idle_slice_bytes : busy_slice_bytes)) {
    take_weights(*result);
  }
  return true;
}

void RolloutWorker::Impl::take_weights(const weights::PullResult& result) {
  if (result.kind == weights::PullResult::Kind::unavailable) {
    if (exactly_) {
      gone_ = exactly_;
      base::log_warning("weight version " + std::to_string(exactly_->value()) +
                        " is no longer in the store; its leases go back");
    }
    return;
  }
  // Leases may have started since the pull began. What they forbid now is asked for again later;
  // the shadow image keeps what has been pulled.
  if (weights_are_held() || result.version == engine_.version()) return;
  engine_.set_weights(follower_.image(), options_.pause_generation_mode);
  if (options_.check_weight_update_equal) check_weights();
}

void RolloutWorker::Impl::check_weights() const {
  const auto difference = engine_.difference(follower_.image());
  if (!difference) return;
  throw base::WorldError(
      "check of new weights", 0,
      "the engine does not compute with what the trainers published as version " +
          std::to_string(engine_.version().value()) + ": " + *difference);
}

}  // namespace physarum::rollout
