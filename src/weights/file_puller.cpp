#include "file_puller.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"
#include "physarum/base/logging.hpp"

#include "block_digests.hpp"

namespace physarum::weights {
namespace {

/// Files are removed a version or two after they are of no use: who loses so often is too slow.
constexpr std::int64_t most_races = 10;
/// Frames that are applied together; a deadline is looked at in between.
constexpr std::int64_t most_frames = 64;
constexpr std::int64_t blocks_a_thread = 16;

std::string number_of(base::WeightVersion version) { return std::to_string(version.value()); }

}  // namespace

FilePuller::FilePuller(const StoreLayout& layout, StoreAccess& access, const WeightOptions& options,
                       CataloguePtr catalogue, storage::FileSystem& files)
    : Impl(layout, access, options),
      catalogue_(std::move(catalogue)),
      files_(files),
      directory_(options.directory),
      piece_bytes_(options.buffer_bytes) {}

void FilePuller::begin(Image& image, std::optional<base::WeightVersion> exactly) {
  base::expects(!active(), "one pull at a time");
  base::expects(image.catalogue().hash() == catalogue_->hash(), "the image is of the catalogue");
  base::expects(!exactly || exactly->valid(), "a pull asks for a version");
  shadow_ = &image;
  wanted_ = exactly;
  result_ = {};
  stage_ = Stage::plan;
  backoff_.reset();
}

void FilePuller::abandon() {
  shadow_ = nullptr;
  stage_ = Stage::done;
  reader_.reset();
  queue_.clear();
  frames_ = {};
  Impl::abandon();
}

std::optional<PullResult> FilePuller::advance(std::int64_t budget_bytes,
                                              const base::Deadline& deadline) {
  base::expects(active(), "advance() belongs to a pull that was begun");
  if (Impl::active()) return advance_store(budget_bytes, deadline);
  const parallel::Phase phase("pull weights");
  const base::Stopwatch watch;
  try {
    while (shadow_ != nullptr && stage_ != Stage::done && budget_bytes > 0) {
      step(budget_bytes, deadline);
    }
  } catch (...) {
    abandon();  // the caller sees why
    throw;
  }
  result_.seconds += watch.seconds();
  if (stage_ != Stage::done || Impl::active()) return std::nullopt;
  shadow_ = nullptr;
  return result_;
}

void FilePuller::step(std::int64_t& budget, const base::Deadline& deadline) {
  if (deadline.expired()) too_late(deadline);
  const Stage stage = stage_;
  const base::Stopwatch watch;
  run(stage, budget);
  if (stage == Stage::apply) {
    result_.apply_s += watch.seconds();
  } else if (stage != Stage::verify) {
    result_.get_s += watch.seconds();
  }
}

void FilePuller::run(Stage stage, std::int64_t& budget) {
  switch (stage) {
    case Stage::plan:
      return plan();
    case Stage::arrive:
      return arrive(budget);
    case Stage::open:
      return open();
    case Stage::read:
      return read(budget);
    case Stage::apply:
      return apply(budget);
    case Stage::verify:
      return verify(budget);
    case Stage::done:
      return;
  }
}

void FilePuller::too_late(const base::Deadline& deadline) {
  const auto late = buffer_that_writes();
  const std::string what = "weight version " + number_of(target_);
  parallel::throw_deadline("puller",
                           late ? "buffer rank " + std::to_string(*late) + " to write " + what +
                                      " into " + directory_.string()
                                : what + " to be read from " + directory_.string(),
                           deadline);
}

void FilePuller::open() {
  if (next_ == queue_.size()) {
    stage_ = Stage::verify;
    return;
  }
  try {
    reader_.emplace(directory_, file(), *catalogue_);
    if (file().version == target_) {
      const auto digests = reader_->digests();
      std::copy(digests.begin(), digests.end(),
                digests_.begin() + part_bytes().begin / StoreLayout::block_bytes);
    }
  } catch (const std::runtime_error& error) {
    return unusable(error.what());
  }
  // Frames that are longer than what they change are none of ours.
  if (reader_->payload_bytes() > part_bytes().size()) return unusable("its payload is too long");
  if (!file().is_full()) frames_.resize(static_cast<std::size_t>(reader_->payload_bytes()));
  offset_ = 0;
  stage_ = Stage::read;
}

void FilePuller::read(std::int64_t& budget) {
  const std::int64_t left = reader_->payload_bytes() - offset_;
  const auto piece = std::min({left, piece_bytes_, budget});
  const bool full = file().is_full();
  if (full) shadow_->set_version({});
  const std::span<std::byte> all =
      full ? slice(shadow_->bytes(), part_bytes()) : std::span<std::byte>(frames_);
  try {
    reader_->read(offset_, slice(all, Range{offset_, offset_ + piece}));
  } catch (const std::runtime_error& error) {
    return unusable(error.what());
  }
  offset_ += piece;
  budget -= piece;
  result_.wire_bytes += piece;
  if (piece < left) return;
  reader_.reset();
  offset_ = 0;
  if (full) return next_file();
  stage_ = Stage::apply;
}

void FilePuller::apply(std::int64_t& budget) {
  shadow_->set_version({});
  const std::int64_t width = element_bytes(layout().type());
  const std::int64_t frame_bytes = DeltaEncoder::frame_elements * width;
  const auto rest = std::span<const std::byte>(frames_).subspan(static_cast<std::size_t>(offset_));
  if (rest.empty()) return next_file();
  try {
    const auto applied =
        decoder().apply_some(rest, std::clamp(budget / frame_bytes, std::int64_t{1}, most_frames),
                             {file().base, file().version}, part_bytes().begin / width,
                             slice(shadow_->bytes(), part_bytes()));
    offset_ += static_cast<std::int64_t>(applied.bytes);
    budget -= applied.frames * frame_bytes;
  } catch (const CorruptDelta& error) {
    unusable((directory_ / file().file_name()).string() + ": " + error.what());
  }
}

void FilePuller::next_file() {
  ++next_;
  stage_ = Stage::open;
}

void FilePuller::verify(std::int64_t& budget) {
  const std::int64_t last =
      std::min(next_block_ + blocks_a_thread * team().size(), layout().blocks());
  const Range bytes{next_block_ * StoreLayout::block_bytes,
                    std::min(last * StoreLayout::block_bytes, layout().image_bytes())};
  const auto wrong = first_wrong_block(
      slice(std::span<const std::byte>(shadow_->bytes()), bytes),
      slice(std::span<const base::Digest>(digests_), {next_block_, last}), team());
  if (wrong >= 0) return unusable("block " + std::to_string(next_block_ + wrong) + " is wrong");
  next_block_ = last;
  budget -= bytes.size();
  if (last < layout().blocks()) return;
  shadow_->set_version(target_);
  const bool full = std::any_of(queue_.begin(), queue_.end(),
                                [](const WeightFileName& one) { return one.is_full(); });
  finish(full ? PullResult::Kind::full : PullResult::Kind::delta);
}

void FilePuller::finish(PullResult::Kind kind) {
  result_.kind = kind;
  result_.version = shadow_->version();
  queue_.clear();
  frames_ = {};
  stage_ = Stage::done;
}

/// The writer has gone on: what it has removed newer files make up for.
void FilePuller::lost_race() {
  ++result_.retries;
  reader_.reset();
  backoff_.pause();
  if (result_.retries >= most_races) {
    warn("newer ones replace it faster than it can be read");
    return take_from_store();
  }
  stage_ = Stage::plan;
}

void FilePuller::unusable(const std::string& why) {
  reader_.reset();
  const bool removed = next_ < queue_.size() && !files_.exists(directory_ / file().file_name());
  if (removed) return lost_race();
  shadow_->set_version({});
  ++result_.failures;
  ++result_.retries;
  access().store(0, StoreWords::wanted, 1);  // so that others find files that are good
  warn(why);
  take_from_store();
}

void FilePuller::warn(const std::string& why) const {
  base::log_warning("weight version " + number_of(target_) +
                    " is taken from the buffer ranks, not from files: " + why);
}

void FilePuller::take_from_store() {
  queue_.clear();
  frames_ = {};
  stage_ = Stage::done;
  Impl::begin(*std::exchange(shadow_, nullptr), wanted_);
}

std::optional<PullResult> FilePuller::advance_store(std::int64_t budget_bytes,
                                                    const base::Deadline& deadline) {
  auto result = Impl::advance(budget_bytes, deadline);
  if (!result) return result;
  result->wire_bytes += result_.wire_bytes;
  result->retries += result_.retries;
  result->failures += result_.failures;
  result->seconds += result_.seconds;
  result->get_s += result_.get_s;
  result->apply_s += result_.apply_s;
  return result;
}

}  // namespace physarum::weights
