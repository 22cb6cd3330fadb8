#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "evolving_weights.hpp"
#include "noted_publisher.hpp"
#include "publisher_impl.hpp"
#include "puller_impl.hpp"
#include "store_words.hpp"
#include "weight_store_impl.hpp"

namespace physarum::weights::test {

/// The carrier on plain memory, with a place to interfere: `at_flush` runs at the end of each
/// flush, when transfers are complete and before their user looks at them; `within_words` runs
/// while the words of a buffer are fetched, before those of its ring entries.
class MemoryAccess final : public StoreAccess {
 public:
  explicit MemoryAccess(std::vector<AlignedBytes>& windows) : windows_(windows) {}
  void put(std::span<const std::byte> from, int buffer, std::uint64_t offset) override {
    count(from.size());
    if (!from.empty()) std::memcpy(at(buffer, offset, from.size()), from.data(), from.size());
  }
  void get(std::span<std::byte> to, int buffer, std::uint64_t offset) override {
    count(to.size());
    if (to.empty()) return;
    constexpr std::size_t border = StoreWords::offset(StoreWords::entry(0));
    const std::size_t first = within_words && offset == 0 ? std::min(border, to.size()) : to.size();
    std::memcpy(to.data(), at(buffer, offset, first), first);
    if (first == to.size()) return;
    within_words();
    std::memcpy(to.data() + first, at(buffer, offset + first, to.size() - first),
                to.size() - first);
  }
  void flush(const base::Deadline&) override {
    under_way_ = 0;
    if (at_flush) at_flush();
  }
  std::uint64_t load(int buffer, std::int64_t word) override {
    std::uint64_t value;
    std::memcpy(&value, at(buffer, StoreWords::offset(word), 8), 8);
    return value;
  }
  void store(int buffer, std::int64_t word, std::uint64_t value) override {
    std::memcpy(at(buffer, StoreWords::offset(word), 8), &value, 8);
  }
  void sync() override {}

  std::function<void()> at_flush;
  std::function<void()> within_words;
  std::size_t most_under_way = 0;  ///< bytes between two flushes

 private:
  std::byte* at(int buffer, std::uint64_t offset, std::size_t bytes) {
    const auto memory = windows_.at(static_cast<std::size_t>(buffer)).span();
    return memory.subspan(static_cast<std::size_t>(offset), bytes).data();
  }
  void count(std::size_t bytes) {
    under_way_ += bytes;
    most_under_way = std::max(most_under_way, under_way_);
  }
  std::vector<AlignedBytes>& windows_;
  std::size_t under_way_ = 0;
};

/// A whole store in one process: some buffer ranks, one trainer rank, one engine.
class MemoryStore {
 public:
  MemoryStore(const WeightOptions& options, int buffer_ranks, double density)
      : catalogue(small_catalogue(options.transfer_type)),
        weights(catalogue, density),
        layout(*catalogue, options, buffer_ranks, 1),
        trainer_access(windows),
        buffer_access(windows),
        engine_access(windows) {
    for (int buffer = 0; buffer < buffer_ranks; ++buffer) {
      windows.emplace_back(layout.window_bytes(buffer), AlignedBytes::Fill::zeros);
      WeightStore::Impl::initialise(layout, buffer, windows.back().span());
    }
    for (int buffer = 0; buffer < buffer_ranks; ++buffer) {
      stores.push_back(std::make_unique<WeightStore>(std::make_unique<WeightStore::Impl>(
          layout, buffer, windows[static_cast<std::size_t>(buffer)].span(), buffer_access)));
    }
    publisher = std::make_unique<Publisher>(std::make_unique<Publisher::Impl>(
        layout, alone, trainer_access, std::function<void()>{}, options));
    noted = std::make_unique<NotedPublisher>(*publisher);
    puller =
        std::make_unique<Puller>(std::make_unique<Puller::Impl>(layout, engine_access, options));
  }

  PublishResult publish(std::int64_t version) {
    return publish_before(version, base::Deadline::in(10));
  }
  PublishResult publish_before(std::int64_t version, const base::Deadline& deadline) {
    weights.advance_to(version);
    return noted->publish(base::WeightVersion(version), weights.flat(), deadline);
  }
  /// As after damage: the full image goes out.
  PublishResult publish_full(std::int64_t version) {
    trainer_access.store(0, StoreWords::wanted, 1);
    return publish(version);
  }
  void fold_all() {
    for (const auto& store : stores) {
      while (store->advance()) {
      }
    }
  }
  PullResult pull(Image& image, std::optional<std::int64_t> exactly = {}) {
    std::optional<base::WeightVersion> version;
    if (exactly) version = base::WeightVersion(*exactly);
    return puller->pull(image, base::Deadline::in(10), version);
  }
  [[nodiscard]] bool same_as(std::int64_t version, const Image& image, double density) const {
    EvolvingWeights expected(catalogue, density);
    expected.advance_to(version);
    return image.version() == base::WeightVersion(version) &&
           image.digest() == expected.image().digest();
  }

  CataloguePtr catalogue;
  EvolvingWeights weights;
  StoreLayout layout;
  std::vector<AlignedBytes> windows;
  MemoryAccess trainer_access;
  MemoryAccess buffer_access;
  MemoryAccess engine_access;
  parallel::Communicator alone;
  std::vector<std::unique_ptr<WeightStore>> stores;
  std::unique_ptr<Publisher> publisher;
  std::unique_ptr<NotedPublisher> noted;
  std::unique_ptr<Puller> puller;
};

inline WeightOptions options_of(UpdateMode mode, TransferType type, std::int64_t ring = 4) {
  WeightOptions options;
  options.mode = mode;
  options.transfer_type = type;
  options.delta_ring = ring;
  return options;
}

}  // namespace physarum::weights::test
