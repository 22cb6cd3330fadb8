#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "physarum/weights/image.hpp"

#include "store_access.hpp"
#include "store_layout.hpp"
#include "weight_store_impl.hpp"

namespace physarum::weights {

/// One contiguous piece of a buffer rank's window on its way to the engines. A version is a few of
/// them, numbered.
struct VersionPart {
  std::int64_t version = 0;
  std::int64_t before = -1;  ///< the one that was visible before it, from which a delta leads
  std::int64_t slot = -1;    ///< where a full image stands
  std::int64_t entry = -1;   ///< of the ring, where a delta stands; one of the two is -1
  std::int64_t part = 0;
  std::int64_t parts = 0;
  std::uint64_t offset = 0;  ///< in the window
};

/// An engine's copy of the windows of all buffer ranks, written as trainers write the originals:
/// the words are cleared, the bytes come, the words are set. It folds for itself. To the engine's
/// puller it is the store; only what is newest, and that a full image is wanted, are asked and said
/// there.
class Replica final : public StoreAccess {
 public:
  /// `control` reaches the words of buffer rank 0.
  Replica(const StoreLayout& layout, StoreAccess& control);

  /// Where the bytes of a part go; before the first one the place is closed to readers.
  [[nodiscard]] std::span<std::byte> place(int buffer, const VersionPart& part, std::size_t bytes);
  /// The part's bytes are there; after the last one the version can be read.
  void complete(int buffer, const VersionPart& part);
  /// A turn of folding; true if it did something.
  bool fold();

  void put(std::span<const std::byte> from, int buffer, std::uint64_t offset) override;
  void get(std::span<std::byte> to, int buffer, std::uint64_t offset) override;
  void flush(const base::Deadline& deadline) override;
  std::uint64_t load(int buffer, std::int64_t word) override;
  void store(int buffer, std::int64_t word, std::uint64_t value) override;
  void sync() override {}
  [[nodiscard]] bool arrived(base::WeightVersion version) override;

 private:
  [[nodiscard]] std::span<std::byte> window(int buffer, std::uint64_t offset, std::size_t bytes);
  [[nodiscard]] std::uint64_t word(int buffer, std::int64_t word);
  void set_word(int buffer, std::int64_t word, std::uint64_t value);

  const StoreLayout& layout_;
  StoreAccess& control_;
  std::vector<AlignedBytes> windows_;                        // by buffer
  std::vector<std::unique_ptr<WeightStore::Impl>> folders_;  // by buffer
};

}  // namespace physarum::weights
