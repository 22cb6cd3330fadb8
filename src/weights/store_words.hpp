#pragma once

#include <cstdint>
#include <span>

#include "physarum/base/ids.hpp"

namespace physarum::weights {

/// The 64-bit words at the start of a buffer rank's window. A version is stored plus one, so that 0
/// means "none" or "being written".
///
/// Written by the first trainer rank, except `content` by the buffer's fold too, `busy`, `filed`
/// and `fold_ns` by the buffer, and `wanted` by engines and buffers. Order of a publish: clear the
/// entry's (or the slot's) words; all trainer ranks put and flush; agree; set the words on every
/// buffer rank; last `newest` on buffer rank 0, the one store that makes the version visible. A
/// reader takes the words before and after its transfers: a word that changed tells it that the
/// place was reused. Should that ever fail it, the digests of the target state do not.
struct StoreWords {
  static constexpr std::int64_t layout = 0;  ///< StoreLayout::hash()
  static constexpr std::int64_t newest = 1;
  static constexpr std::int64_t active = 2;  ///< slot of the newest full image, plus one
  static constexpr std::int64_t busy = 3;    ///< slot that is being folded into, plus one
  static constexpr std::int64_t wanted = 4;  ///< on buffer rank 0: the next publish must be full
  /// Full version that was put into a slot.
  static constexpr std::int64_t base(std::int64_t slot) { return 5 + slot; }
  /// Version up to which deltas were folded into a slot; at least base. While a fold runs, single
  /// elements are already of the next one.
  static constexpr std::int64_t content(std::int64_t slot) { return 7 + slot; }
  /// Version that was visible before the full one that was put into a slot.
  static constexpr std::int64_t before(std::int64_t slot) { return 9 + slot; }
  /// Up to this version the buffer's files are in the weight directory, or will not come any more.
  static constexpr std::int64_t filed = 11;
  /// Nanoseconds that the fold took which led to `content`.
  static constexpr std::int64_t fold_ns = 12;
  /// Version to which the delta in a ring entry leads, and the one from which it leads.
  static constexpr std::int64_t entry(std::int64_t index) { return 13 + 2 * index; }
  static constexpr std::int64_t entry_base(std::int64_t index) { return entry(index) + 1; }
  static constexpr std::int64_t count(std::int64_t ring) { return entry(ring); }

  static constexpr std::uint64_t offset(std::int64_t word) {
    return static_cast<std::uint64_t>(word) * 8;
  }
  static constexpr std::uint64_t of(base::WeightVersion version) {
    return static_cast<std::uint64_t>(version.value() + 1);
  }
  static constexpr base::WeightVersion version(std::uint64_t word) {
    return base::WeightVersion(static_cast<std::int64_t>(word) - 1);
  }
};

}  // namespace physarum::weights
