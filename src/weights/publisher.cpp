#include "physarum/weights/publisher.hpp"

#include <algorithm>
#include <array>

#include "physarum/base/contracts.hpp"
#include "physarum/base/narrow.hpp"

#include "physarum/parallel/agree.hpp"
#include "physarum/parallel/wait.hpp"

#include "physarum/weights/convert.hpp"

#include "block_digests.hpp"
#include "publisher_impl.hpp"
#include "store_words.hpp"

namespace physarum::weights {
namespace {
/// Of which a delta's digests are compared with the values.
constexpr std::int64_t checked_blocks = 4;
}  // namespace

Publisher::Impl::Impl(const StoreLayout& layout, parallel::Communicator& trainers,
                      StoreAccess& access, std::function<void()> serve_store,
                      const WeightOptions& options)
    : layout_(layout),
      trainers_(trainers),
      access_(access),
      puts_(access, options.buffer_bytes),
      serve_store_(std::move(serve_store)),
      share_(layout.share(trainers.rank())),
      regions_(layout.regions_of_trainer(trainers.rank())),
      changes_(layout.type(), {share_.begin / element_bytes(layout.type()),
                               share_.end / element_bytes(layout.type())}),
      team_(base::narrow<int>(options.threads)),
      encoder_(layout.type(), &team_),
      rule_(share_.size() / element_bytes(layout.type()),
            layout.image_bytes() / element_bytes(layout.type()), layout.type()),
      frames_(regions_.size()),
      lengths_(regions_.size()),
      entries_(static_cast<std::size_t>(layout.ring())) {}

/// All of it, and its digests while the bytes are in the nearest cache.
void Publisher::Impl::restate(std::span<const float> values) {
  const std::int64_t width = element_bytes(layout_.type());
  const std::int64_t blocks = StoreLayout::blocks_of(share_);
  digests_.resize(static_cast<std::size_t>(blocks));
  team_.run([&](int thread) {
    const auto part = base::part_of(blocks, thread, team_.size());
    for (std::int64_t block = part.first; block < part.first + part.count; ++block) {
      const std::int64_t begin = block * StoreLayout::block_bytes;
      const std::int64_t end = std::min(begin + StoreLayout::block_bytes, share_.size());
      const auto bytes = slice(changes_.memory(), {begin, end});
      to_transfer(slice(values, {begin / width, end / width}), layout_.type(), bytes);
      digests_[static_cast<std::size_t>(block)] = digest_of_block(bytes);
    }
  });
}

void Publisher::Impl::for_each_buffer(const std::function<void(int)>& work) const {
  // Buffer rank 0 last: readers start from its words.
  for (int buffer = layout_.buffer_ranks() - 1; buffer >= 0; --buffer) work(buffer);
}

std::span<const std::byte> Publisher::Impl::image_of(const Region& region) {
  return slice(changes_.memory(),
               {region.bytes.begin - share_.begin, region.bytes.end - share_.begin});
}

std::span<base::Digest> Publisher::Impl::digests_of(const Region& region) {
  const std::int64_t first = (region.bytes.begin - share_.begin) / StoreLayout::block_bytes;
  const std::int64_t count = StoreLayout::blocks_of(region.bytes);
  return slice(std::span(digests_), {first, first + count});
}

bool Publisher::Impl::delta_may_follow() const {
  const bool anchor =
      layout_.full_interval() > 0 && published_count_ % layout_.full_interval() == 0;
  return layout_.ring() > 0 && !anchor;
}

/// The ring's place is free once every buffer rank has folded the delta that is in it, and nobody
/// asked for a full image.
bool Publisher::Impl::buffers_can_take_delta() {
  if (access_.load(0, StoreWords::wanted) != 0) return false;
  const base::WeightVersion there = entries_[static_cast<std::size_t>(next_entry_)];
  bool free = true;
  for_each_buffer([&](int buffer) {
    const std::uint64_t content = access_.load(buffer, StoreWords::content(active_slot_));
    free = free && StoreWords::version(content) >= there;
  });
  return free;
}

bool Publisher::Impl::delta_pays(std::span<const float> values) const {
  return layout_.mode() != UpdateMode::automatic || rule_.delta_pays(changes_.density(values));
}

/// How long a buffer rank took to apply the last delta, which an engine applies, too.
void Publisher::Impl::learn_of_fold() {
  if (!is_first() || last_density_ == 0 || layout_.mode() != UpdateMode::automatic) return;
  const auto content = access_.load(0, StoreWords::content(active_slot_));
  const std::int64_t shard = layout_.shard(0).size();
  if (content != StoreWords::of(last_) || shard == 0) return;
  const auto seconds = static_cast<double>(access_.load(0, StoreWords::fold_ns)) * 1e-9;
  rule_.delta_was_applied(last_density_, seconds * static_cast<double>(layout_.image_bytes()) /
                                             static_cast<double>(shard));
}

/// A change that nobody noted would reach no engine until the next full image. Some blocks of each
/// version are looked at, others with the next one.
void Publisher::Impl::check_digests(std::span<const float> values) const {
  if (!base::contracts_enabled) return;
  const std::int64_t width = element_bytes(layout_.type());
  const std::int64_t blocks = StoreLayout::blocks_of(share_);
  std::array<std::byte, static_cast<std::size_t>(StoreLayout::block_bytes)> memory;
  for (std::int64_t i = 0; i < std::min(checked_blocks, blocks); ++i) {
    const std::int64_t block = (published_count_ * checked_blocks + i) % blocks;
    const std::int64_t begin = block * StoreLayout::block_bytes;
    const std::int64_t end = std::min(begin + StoreLayout::block_bytes, share_.size());
    const auto bytes = std::span(memory).first(static_cast<std::size_t>(end - begin));
    to_transfer(slice(values, {begin / width, end / width}), layout_.type(), bytes);
    base::expects(digest_of_block(bytes) == digests_[static_cast<std::size_t>(block)],
                  "whoever changes weights notes it");
  }
}

/// Brings the digests to the values; if it ends early, only some of them.
bool Publisher::Impl::encode(std::span<const float> values, DeltaStep step, Report& report) {
  const base::Stopwatch watch;
  const std::int64_t width = element_bytes(layout_.type());
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    const Region& region = regions_[i];
    frames_[i].clear();
    const Range elements{(region.bytes.begin - share_.begin) / width,
                         (region.bytes.end - share_.begin) / width};
    const std::int64_t first_block = (region.bytes.begin - share_.begin) / StoreLayout::block_bytes;
    const auto notes =
        slice(changes_.notes(), {first_block, first_block + StoreLayout::blocks_of(region.bytes)});
    const auto changed =
        encoder_.encode_noted(notes, slice(values, elements), region.bytes.begin / width, step,
                              region.capacity, frames_[i], digests_of(region));
    if (!changed) return false;
    report.changed += *changed;
    lengths_[i] = frames_[i].size();
    report.wire_bytes += static_cast<std::int64_t>(frames_[i].size() + sizeof lengths_[i]);
  }
  check_digests(values);
  const std::int64_t elements = share_.size() / width;
  rule_.delta_was_encoded(static_cast<double>(report.changed) / static_cast<double>(elements),
                          watch.seconds());
  return true;
}

Publisher::Impl::Report Publisher::Impl::prepare(base::WeightVersion version,
                                                 std::span<const float> values) {
  Report report;
  report.version = version.value();
  const base::Stopwatch watch;
  learn_of_fold();
  bool delta = changes_.is_open() && delta_pays(values);
  if (delta && is_first()) {
    if (serve_store_) serve_store_();
    delta = buffers_can_take_delta();
    if (delta) {
      for_each_buffer(
          [&](int buffer) { access_.store(buffer, StoreWords::entry(next_entry_), 0); });
    }
  }
  changes_.close();  // until all have this version, what was noted leads nowhere
  delta = delta && encode(values, {last_, version}, report);
  report.full = delta ? 0 : 1;
  if (!delta) restate(values);
  report.encode_s = watch.seconds();
  return report;
}

PublishResult Publisher::Impl::decide(const std::vector<Report>& reports) const {
  PublishResult result;
  std::int64_t changed = 0;
  bool delta = true;
  for (const Report& report : reports) {
    base::expects(report.version == reports.front().version,
                  "all trainer ranks publish the same version");
    delta = delta && report.full == 0;
    changed += report.changed;
    result.wire_bytes += report.wire_bytes;
    result.encode_s = std::max(result.encode_s, report.encode_s);
  }
  const std::int64_t elements = layout_.image_bytes() / element_bytes(layout_.type());
  result.version = base::WeightVersion(reports.front().version);
  result.kind = delta ? PublishResult::Kind::delta : PublishResult::Kind::full;
  result.density = delta ? static_cast<double>(changed) / static_cast<double>(elements) : 1.0;
  if (!delta) result.wire_bytes = layout_.image_bytes();
  result.wire_bytes += layout_.blocks() * StoreLayout::digest_bytes;
  return result;
}

/// The slot that is not active, as soon as no buffer rank is still folding into it.
void Publisher::Impl::open_slot(const base::Deadline& deadline) {
  if (!is_first()) return;
  const std::int64_t slot = active_slot_ == 0 ? 1 : 0;
  for_each_buffer([&](int buffer) {
    const bool idle = parallel::wait_until(
        [&] {
          return access_.load(buffer, StoreWords::busy) != static_cast<std::uint64_t>(slot) + 1;
        },
        deadline);
    if (!idle) {
      parallel::throw_deadline(trainers_.describe(),
                               "buffer rank " + std::to_string(buffer) + " to end a fold",
                               deadline);
    }
    access_.store(buffer, StoreWords::base(slot), 0);
    access_.store(buffer, StoreWords::content(slot), 0);
  });
}

void Publisher::Impl::put_full(const base::Deadline& deadline) {
  const base::Stopwatch watch;
  const std::int64_t slot = active_slot_ == 0 ? 1 : 0;
  for (const Region& region : regions_) {
    const auto inside =
        static_cast<std::uint64_t>(region.bytes.begin - layout_.shard(region.buffer).begin);
    puts_.put(image_of(region), region.buffer, layout_.slot_offset(region.buffer, slot) + inside,
              deadline);
    puts_.put(std::as_bytes(digests_of(region)), region.buffer,
              layout_.slot_digests_offset(region.buffer, slot) +
                  layout_.digest_place(region.buffer, region.bytes),
              deadline);
  }
  puts_.finish(deadline);
  rule_.full_was_put(watch.seconds());
}

void Publisher::Impl::put_delta(const base::Deadline& deadline) {
  const std::int64_t entry = next_entry_;
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    const Region& region = regions_[i];
    puts_.put(frames_[i], region.buffer, layout_.frames_offset(region, entry), deadline);
    puts_.put(
        std::as_bytes(std::span(&lengths_[i], 1)), region.buffer,
        layout_.lengths_offset(region.buffer, entry) + static_cast<std::uint64_t>(region.index) * 8,
        deadline);
    puts_.put(std::as_bytes(digests_of(region)), region.buffer,
              layout_.entry_digests_offset(region.buffer, entry) +
                  layout_.digest_place(region.buffer, region.bytes),
              deadline);
  }
  puts_.finish(deadline);
}

void Publisher::Impl::make_visible(const PublishResult& result) {
  if (!is_first()) return;
  const std::uint64_t word = StoreWords::of(result.version);
  const std::uint64_t before = last_.valid() ? StoreWords::of(last_) : 0;
  const bool full = result.kind == PublishResult::Kind::full;
  const std::int64_t slot = active_slot_ == 0 ? 1 : 0;
  for_each_buffer([&](int buffer) {
    if (full) {
      access_.store(buffer, StoreWords::content(slot), word);
      access_.store(buffer, StoreWords::before(slot), before);
      access_.store(buffer, StoreWords::base(slot), word);
      access_.store(buffer, StoreWords::active, static_cast<std::uint64_t>(slot) + 1);
    } else {
      access_.store(buffer, StoreWords::entry_base(next_entry_), before);
      access_.store(buffer, StoreWords::entry(next_entry_), word);
    }
  });
  if (full) access_.store(0, StoreWords::wanted, 0);
  for_each_buffer([&](int buffer) { access_.store(buffer, StoreWords::newest, word); });
}

PublishResult Publisher::Impl::publish(base::WeightVersion version, std::span<const float> values,
                                       const base::Deadline& deadline) {
  base::expects(version.valid() && version > last_, "weight versions grow");
  const std::int64_t width = element_bytes(layout_.type());
  values = slice(values, {share_.begin / width, share_.end / width});
  const parallel::Phase phase("publish");
  const base::Stopwatch watch;
  Report mine;
  parallel::together(
      trainers_, [&] { mine = prepare(version, values); }, deadline);
  PublishResult result = decide(trainers_.all_gather(mine, deadline));
  const bool full = result.kind == PublishResult::Kind::full;
  if (full)
    parallel::together(
        trainers_,
        [&] {
          if (mine.full == 0) restate(values);  // it is another rank that cannot send a delta
          open_slot(deadline);
        },
        deadline);
  parallel::together(
      trainers_,
      [&] {
        const base::Stopwatch putting;
        full ? put_full(deadline) : put_delta(deadline);
        result.put_s = putting.seconds();
      },
      deadline);
  parallel::together(
      trainers_, [&] { make_visible(result); }, deadline);
  if (full) {
    active_slot_ = active_slot_ == 0 ? 1 : 0;
  } else {
    entries_[static_cast<std::size_t>(next_entry_)] = version;
    next_entry_ = (next_entry_ + 1) % layout_.ring();
  }
  last_density_ = full ? 0 : result.density;
  ++published_count_;
  last_ = version;
  if (delta_may_follow()) changes_.open();
  result.seconds = watch.seconds();
  return result;
}

Publisher::Publisher(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Publisher::Publisher(Publisher&&) noexcept = default;
Publisher& Publisher::operator=(Publisher&&) noexcept = default;
Publisher::~Publisher() = default;

Range Publisher::my_bytes() const { return impl_->my_bytes(); }

Range Publisher::my_elements() const {
  const std::int64_t width = element_bytes(impl_->type());
  return {my_bytes().begin / width, my_bytes().end / width};
}

PublishResult Publisher::publish(base::WeightVersion version, std::span<const float> flat,
                                 base::Deadline deadline) {
  return impl_->publish(version, flat, deadline);
}

base::WeightVersion Publisher::last() const { return impl_->last(); }

ChangeLog& Publisher::changes() { return impl_->changes(); }

}  // namespace physarum::weights
