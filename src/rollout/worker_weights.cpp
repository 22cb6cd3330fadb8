// Which weights the engine works with, and when it changes them.

#include <algorithm>

#include "physarum/base/logging.hpp"

#include "rollout_worker_impl.hpp"

namespace physarum::rollout {

namespace {
/// An idle engine has nothing better to do.
constexpr std::int64_t idle_slice_bytes = std::int64_t{64} << 20;
/// Between two decode steps a slice may take this part of a step.
constexpr double slice_share = 0.1;
constexpr std::int64_t smallest_slice_bytes = std::int64_t{1} << 18;
/// A slice cannot be foreseen: it may look at bytes, decode them or move them.
constexpr double most_growth = 2;
}  // namespace

/// Slices become longer or shorter until they take their part of a decode step.
void RolloutWorker::Impl::fit_slice(double slice_s) {
  const double wanted =
      std::clamp(slice_share * step_s_ / std::max(slice_s, 1e-7), 1 / most_growth, most_growth);
  slice_bytes_ = std::clamp(static_cast<std::int64_t>(static_cast<double>(slice_bytes_) * wanted),
                            smallest_slice_bytes, idle_slice_bytes);
}

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
  if (!follower_.pulling() && !pulled_) ask_for_weights();
  if (!follower_.pulling() && !pulled_) return false;
  const bool idle = engine_.unfinished() == 0;
  const base::Stopwatch watch;
  follow_some(idle ? idle_slice_bytes : slice_bytes_);
  if (!idle) fit_slice(watch.seconds());
  return true;
}

/// A pull, then the comparison of what came with what is in use, then the change.
void RolloutWorker::Impl::follow_some(std::int64_t budget_bytes) {
  if (!pulled_) {
    pulled_ = follower_.advance(budget_bytes);
    if (pulled_ && pulled_->kind == weights::PullResult::Kind::unavailable) {
      give_up_version();
      pulled_.reset();
    }
    return;
  }
  // Leases may have started since the pull began. What they forbid now is asked for again later;
  // the shadow image keeps what has been pulled.
  if (weights_are_held() || pulled_->version == engine_.version()) return pulled_.reset();
  if (!engine_.prepare_weights(follower_.image(), budget_bytes)) return;
  engine_.set_weights(follower_.image(), options_.pause_generation_mode);
  if (options_.check_weight_update_equal) check_weights();
  pulled_.reset();
}

void RolloutWorker::Impl::give_up_version() {
  if (!exactly_) return;
  gone_ = exactly_;
  base::log_warning("weight version " + std::to_string(exactly_->value()) +
                    " is no longer in the store; its leases go back");
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
