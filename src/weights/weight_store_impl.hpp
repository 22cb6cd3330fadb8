#pragma once

#include <functional>
#include <optional>

#include "physarum/weights/delta_codec.hpp"
#include "physarum/weights/weight_store.hpp"

#include "store_access.hpp"
#include "store_layout.hpp"

namespace physarum::weights {

/// Folds deltas into this buffer rank's active slot.
class WeightStore::Impl {
 public:
  /// `memory` is this rank's window; its words are set here, before peers can see it. `access`
  /// reaches it over the core window. Deltas that `may_fold` refuses wait; none: it allows all.
  Impl(const StoreLayout& layout, int buffer, std::span<std::byte> memory, StoreAccess& access,
       std::function<bool(base::WeightVersion)> may_fold = {});

  /// What must stand in the memory before the windows are made.
  static void initialise(const StoreLayout& layout, int buffer, std::span<std::byte> memory);

  /// A turn; true if it did something.
  bool fold();
  [[nodiscard]] base::WeightVersion newest() const;
  [[nodiscard]] base::WeightVersion folded() const;

 private:
  /// A delta on its way into the slot.
  struct Fold {
    DeltaStep step;
    std::uint64_t base_word = 0;
    std::int64_t slot = 0;
    std::int64_t entry = 0;
    std::size_t region = 0;
    std::size_t offset = 0;  // in the region's frames
    double seconds = 0;      // so far
  };
  [[nodiscard]] std::optional<Fold> next_fold() const;
  [[nodiscard]] bool still_current() const;
  bool fold_some();
  void fold_frame(std::span<const std::byte> frames);
  [[nodiscard]] std::span<const std::byte> frames_of(const Region& region) const;
  void give_up(const char* why);

  const StoreLayout& layout_;
  int buffer_;
  std::span<std::byte> memory_;
  StoreAccess& access_;
  std::function<bool(base::WeightVersion)> may_fold_;
  DeltaDecoder decoder_;
  std::optional<Fold> fold_;
  std::uint64_t broken_base_ = 0;  // base word of a slot that is not folded into any more
};

}  // namespace physarum::weights
