#include <algorithm>
#include <utility>

#include "physarum/base/logging.hpp"

#include "file_puller.hpp"

// The first half of a pull from files: which ones lead to the target.
namespace physarum::weights {

void FilePuller::plan() {
  target_ = wanted_ ? *wanted_ : newest();
  if (target_.valid() && shadow_->version() == target_) return finish(PullResult::Kind::current);
  if (!target_.valid() || (wanted_ && target_ > newest())) {
    return finish(PullResult::Kind::unavailable);
  }
  stage_ = Stage::arrive;
}

std::optional<int> FilePuller::buffer_that_writes() {
  for (int buffer = 0; buffer < layout().buffer_ranks(); ++buffer) {
    const auto filed = StoreWords::version(access().load(buffer, StoreWords::filed));
    if (filed < target_) return buffer;
  }
  return std::nullopt;
}

void FilePuller::arrive(std::int64_t& budget) {
  if (buffer_that_writes()) {
    budget = 0;  // of this slice: the disk takes its time
    if (!parallel::serve_hooks()) backoff_.pause();
    return;
  }
  if (find_files()) {
    if (std::exchange(unseen_, false)) {
      base::log_info("weight versions are in " + directory_.string() + " again");
    }
    stage_ = Stage::open;
  } else if (!wanted_ && newest() > target_) {
    lost_race();
  } else {
    // An engine whose node does not see the directory would say so with every version.
    if (!std::exchange(unseen_, true)) {
      warn("it is not in " + directory_.string() + " (told once, until one is)");
    }
    take_from_store();
  }
}

bool FilePuller::find_files() {
  const auto version = complete_version(list_weight_files(files_, directory_),
                                        layout().image_bytes(), {target_, layout().buffer_ranks()});
  if (!version) return false;
  queue_.clear();
  result_.deltas = 0;
  for (const PartChain& chain : version->chains) {
    const auto missing = after(chain, shadow_->version());
    result_.deltas = std::max<std::int64_t>(
        result_.deltas, std::count_if(missing.begin(), missing.end(),
                                      [](const WeightFileName& one) { return !one.is_full(); }));
    queue_.insert(queue_.end(), missing.begin(), missing.end());
  }
  next_ = 0;
  next_block_ = 0;
  digests_.assign(static_cast<std::size_t>(layout().blocks()), {});
  return true;
}

}  // namespace physarum::weights
