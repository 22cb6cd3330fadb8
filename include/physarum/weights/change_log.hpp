#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "physarum/weights/catalogue.hpp"
#include "physarum/weights/image.hpp"

namespace physarum::weights {

/// An element of a block that was noted: its place in the block, its bits when the last version
/// was published, and its bits now.
template <class Element>
struct NotedChange {
  Element position;
  Element was;
  Element is;
};

/// What is known of a block: changes in the order of their places, or, where they would take more
/// memory than that, what all of it was when the last version was published.
struct BlockNote {
  static constexpr std::uint32_t dense = std::numeric_limits<std::uint32_t>::max();
  std::byte* memory = nullptr;
  std::uint32_t count = 0;  ///< of changes; `dense`: the memory holds all elements as they were
};

/// What has changed in one trainer rank's share of the image since the last version was published,
/// noted while the weights are changed, when old and new value are at hand: a publish then looks at
/// nothing else. Takes as much memory as the share. Owned by the Publisher, which opens it with
/// each version; until then, and where no delta can follow, nothing is noted.
///
/// One thread; different blocks may be changed by different threads at the same time.
class ChangeLog {
 public:
  /// `share`: elements of the image, from a block's start on, to the end of a block or of all.
  ChangeLog(TransferType type, Range share);

  /// Elements that are looked at together, and best changed together: they stay in the nearest
  /// cache.
  static constexpr std::int64_t piece_elements = 2048;

  /// Brings the values of these elements to the masters, rounded to the transfer type, and notes
  /// what that changes in the share. Both are laid out as the whole image; the values, those of the
  /// other elements too, are what was published or brought here last: all of them go this way.
  void update(std::span<float> values, std::span<const float> masters, Range elements);

  /// Share of the elements that have changed. At most that: those that came back count, too. Of
  /// blocks with all elements a sample tells. `values` are the share's, as they were noted last.
  [[nodiscard]] double density(std::span<const float> values) const;

  /// For the Publisher. From here on changes count, from the values as they are.
  void open();
  /// Nothing is noted any more. What was noted is kept until somebody uses the memory.
  void close() { open_ = false; }
  [[nodiscard]] bool is_open() const { return open_; }
  [[nodiscard]] std::span<const BlockNote> notes() const { return notes_; }
  /// Room for the share in the transfer type, while the log is closed.
  [[nodiscard]] std::span<std::byte> memory() { return memory_.span(); }

 private:
  [[nodiscard]] std::int64_t block_elements() const;
  [[nodiscard]] Range elements_of(std::int64_t block) const;
  void round_to_transfer(std::span<const float> masters, std::span<float> values,
                         Range elements) const;
  template <class Element>
  void update_piece(std::span<float> values, std::span<const float> masters, Range elements);
  template <class Element>
  void keep_all(std::int64_t block, std::span<const float> values);
  [[nodiscard]] double sampled(std::int64_t block, std::span<const float> values) const;

  TransferType type_;
  Range share_;  // elements of the image
  AlignedBytes memory_;
  std::vector<BlockNote> notes_;  // by block
  bool open_ = false;
};

}  // namespace physarum::weights
