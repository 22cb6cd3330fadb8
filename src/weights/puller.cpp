#include "physarum/weights/puller.hpp"

#include <algorithm>
#include <limits>

#include "physarum/base/contracts.hpp"
#include "physarum/base/logging.hpp"
#include "physarum/base/narrow.hpp"

#include "physarum/parallel/wait.hpp"

#include "block_digests.hpp"
#include "puller_impl.hpp"

// The second half of a pull: fetch, apply, verify.
namespace physarum::weights {
namespace {

/// Losing a race is no fault, but an engine that always loses should say so.
constexpr std::int64_t most_attempts = 1000;
/// Wrong bytes are a fault: once more from the full image, and once more from the next one.
constexpr std::int64_t most_failures = 3;
/// Frames that are applied together; a deadline is looked at in between.
constexpr std::int64_t most_frames = 64;
/// Fetched at a time: while the next bytes come, digests are made of these, from the outer cache.
/// Shorter rounds, and a carrier that is waited for more often, cost more than they save.
constexpr std::int64_t round_bytes = std::int64_t{16} << 20;

}  // namespace

Puller::Impl::Impl(const StoreLayout& layout, StoreAccess& access, const WeightOptions& options)
    : layout_(layout),
      access_(access),
      buffer_bytes_(options.buffer_bytes),
      check_(options.pull_check),
      team_(base::narrow<int>(options.threads)),
      decoder_(layout.type(), &team_) {}

base::WeightVersion Puller::Impl::newest() {
  return StoreWords::version(access_.load(0, StoreWords::newest));
}

void Puller::Impl::begin(Image& image, std::optional<base::WeightVersion> exactly) {
  base::expects(!active(), "one pull at a time");
  base::expects(image.catalogue().total_bytes() == layout_.image_bytes() &&
                    image.catalogue().type() == layout_.type(),
                "the image is of the store's catalogue");
  base::expects(!exactly || exactly->valid(), "a pull asks for a version");
  image_ = &image;
  exactly_ = exactly;
  result_ = {};
  stage_ = Stage::plan;
  full_only_ = false;
  backoff_.reset();
}

std::optional<PullResult> Puller::Impl::advance(std::int64_t budget_bytes,
                                                const base::Deadline& deadline) {
  base::expects(active(), "advance() belongs to a pull that was begun");
  const parallel::Phase phase("pull weights");
  const base::Stopwatch watch;
  try {
    while (stage_ != Stage::done && budget_bytes > 0) step(budget_bytes, deadline);
  } catch (...) {
    abandon();  // the caller sees why
    throw;
  }
  result_.seconds += watch.seconds();
  if (stage_ != Stage::done) return std::nullopt;
  image_ = nullptr;
  return result_;
}

/// Every step ends with its transfers complete, so nothing writes to the image or the deltas later.
void Puller::Impl::abandon() {
  image_ = nullptr;
  deltas_.clear();
  pieces_.clear();
  stage_ = Stage::done;
}

void Puller::Impl::step(std::int64_t& budget, const base::Deadline& deadline) {
  if (deadline.expired()) {
    parallel::throw_deadline("puller", "a stable version of the weights", deadline);
  }
  const Stage stage = stage_;
  const base::Stopwatch watch;
  digest_s_ = 0;
  run(stage, budget, deadline);
  if (stage == Stage::apply) {
    result_.apply_s += watch.seconds();
  } else if (stage != Stage::verify) {
    result_.get_s += watch.seconds() - digest_s_;
  }
}

void Puller::Impl::run(Stage stage, std::int64_t& budget, const base::Deadline& deadline) {
  switch (stage) {
    case Stage::plan:
      return plan();
    case Stage::arrive:
      return arrive(budget, deadline);
    case Stage::head:
      return read_heads(deadline);
    case Stage::fetch:
      return fetch(budget, deadline);
    case Stage::apply:
      return apply(budget);
    case Stage::verify:
      return verify(budget);
    case Stage::done:
      return;
  }
}

void Puller::Impl::fetch(std::int64_t& budget, const base::Deadline& deadline) {
  queue_round(budget);
  digest_arrived();
  access_.flush(deadline);
  arrived_ = next_piece_;
  if (arrived_ < pieces_.size()) return;
  digest_arrived();
  check_places(deadline);
}

void Puller::Impl::queue_round(std::int64_t& budget) {
  const std::int64_t most = std::min(round_bytes, buffer_bytes_);
  for (std::int64_t in_flight = 0; budget > 0 && next_piece_ < pieces_.size();) {
    const Piece& piece = pieces_[next_piece_];
    if (in_flight + std::ssize(piece.to) > most) break;
    ++next_piece_;
    if (plan_of(piece.buffer).slot >= 0) image_->set_version({});
    access_.get(piece.to, piece.buffer, piece.offset);
    const auto bytes = static_cast<std::int64_t>(piece.to.size());
    in_flight += bytes;
    budget -= bytes;
    result_.wire_bytes += bytes;
  }
}

/// Of the pieces of a full image; frames bring their own digests.
void Puller::Impl::digest_arrived() {
  const base::Stopwatch watch;
  for (; digested_ < arrived_; ++digested_) {
    const Piece& piece = pieces_[digested_];
    if (piece.image_offset < 0 || held_.empty()) continue;
    add_to_digests(piece.to, piece.image_offset, held_, team_);
  }
  digest_s_ += watch.seconds();
}

void Puller::Impl::check_places(const base::Deadline& deadline) {
  const base::WeightVersion ahead = newest();  // before the words: they are at least as new
  auto now = read_words_of_one_moment(deadline);
  if (!now) return lost_race();
  for (int buffer = 0; buffer < layout_.buffer_ranks(); ++buffer) {
    if (!still_there((*now)[static_cast<std::size_t>(buffer)], buffer)) return lost_race();
  }
  for (int buffer = 0; buffer < layout_.buffer_ranks(); ++buffer) {
    if (overtaken((*now)[static_cast<std::size_t>(buffer)], buffer)) {
      return follow(ahead, std::move(*now));
    }
  }
  stage_ = Stage::apply;
}

void Puller::Impl::apply(std::int64_t& budget) {
  image_->set_version({});
  const std::int64_t frame_bytes = DeltaEncoder::frame_elements * element_bytes(layout_.type());
  while (budget > 0 && next_delta_ < deltas_.size()) {
    const Delta& delta = deltas_[next_delta_];
    const auto rest = std::span<const std::byte>(delta.frames).subspan(delta_offset_);
    if (rest.empty()) {
      ++next_delta_;
      delta_offset_ = 0;
      continue;
    }
    try {
      const auto applied = decoder_.apply_some(
          rest, std::clamp(budget / frame_bytes, std::int64_t{1}, most_frames), delta.step,
          delta.region->bytes.begin / element_bytes(layout_.type()),
          slice(image_->bytes(), delta.region->bytes), held_of(delta.region->bytes));
      delta_offset_ += applied.bytes;
      budget -= applied.frames * frame_bytes;
    } catch (const CorruptDelta& error) {
      return failed(error.what());
    }
  }
  if (next_delta_ == deltas_.size()) stage_ = Stage::verify;
}

void Puller::Impl::verify(std::int64_t& budget) {
  const std::int64_t at_once = held_.empty() ? 16 * team_.size() : layout_.blocks();
  const Range blocks{next_block_, std::min(next_block_ + at_once, layout_.blocks())};
  const std::int64_t wrong = first_wrong(blocks, budget);
  if (wrong >= 0) return failed("block " + std::to_string(wrong) + " is wrong");
  next_block_ = blocks.end;
  if (next_block_ < layout_.blocks()) return;
  const bool full = std::any_of(plans_.begin(), plans_.end(),
                                [](const ShardPlan& plan) { return plan.slot >= 0; });
  image_->set_version(target_, digests_);
  finish(full ? PullResult::Kind::full : PullResult::Kind::delta);
}

/// Of `blocks`; -1: none.
std::int64_t Puller::Impl::first_wrong(Range blocks, std::int64_t& budget) {
  if (!held_.empty()) {
    const auto wrong = std::mismatch(held_.begin(), held_.end(), digests_.begin()).first;
    return wrong == held_.end() ? -1 : wrong - held_.begin();
  }
  const Range bytes{blocks.begin * StoreLayout::block_bytes,
                    std::min(blocks.end * StoreLayout::block_bytes, layout_.image_bytes())};
  budget -= bytes.size();
  const std::int64_t wrong =
      first_wrong_block(slice(std::span<const std::byte>(image_->bytes()), bytes),
                        slice(std::span<const base::Digest>(digests_), blocks), team_);
  return wrong < 0 ? -1 : blocks.begin + wrong;
}

void Puller::Impl::finish(PullResult::Kind kind) {
  result_.kind = kind;
  result_.version = image_->version();
  if (kind == PullResult::Kind::current || kind == PullResult::Kind::unavailable) {
    result_.deltas = 0;
  }
  deltas_.clear();
  stage_ = Stage::done;
}

void Puller::Impl::lost_race() {
  stage_ = Stage::plan;
  count_retry();
}

void Puller::Impl::count_retry() {
  ++result_.retries;
  backoff_.pause();
  if (result_.retries < most_attempts) return;
  throw PullFailed("weights are published faster than this engine can pull them: " +
                   std::to_string(result_.retries) + " attempts for version " +
                   std::to_string(target_.value()) + " lost their race");
}

/// Half of the image may be of the target: only a full one can be trusted, and a full one that the
/// trainers put again if this one is not.
void Puller::Impl::failed(const std::string& why) {
  image_->set_version({});
  if (full_only_) access_.store(0, StoreWords::wanted, 1);
  full_only_ = true;
  ++result_.failures;
  base::log_warning("weight pull of version " + std::to_string(target_.value()) +
                    " failed verification: " + why);
  if (result_.failures >= most_failures) {
    throw PullFailed("weights of version " + std::to_string(target_.value()) +
                     " failed verification " + std::to_string(result_.failures) + " times: " + why);
  }
  lost_race();
}

Puller::Puller(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Puller::Puller(Puller&&) noexcept = default;
Puller& Puller::operator=(Puller&&) noexcept = default;
Puller::~Puller() = default;

base::WeightVersion Puller::newest() { return impl_->newest(); }

void Puller::begin(Image& image, std::optional<base::WeightVersion> exactly) {
  impl_->begin(image, exactly);
}

bool Puller::active() const { return impl_->active(); }

std::optional<PullResult> Puller::advance(std::int64_t budget_bytes, base::Deadline deadline) {
  return impl_->advance(budget_bytes, deadline);
}

void Puller::abandon() { impl_->abandon(); }

PullResult Puller::pull(Image& image, base::Deadline deadline,
                        std::optional<base::WeightVersion> exactly) {
  begin(image, exactly);
  for (;;) {
    if (const auto result = advance(std::numeric_limits<std::int64_t>::max(), deadline)) {
      return *result;
    }
  }
}

}  // namespace physarum::weights
