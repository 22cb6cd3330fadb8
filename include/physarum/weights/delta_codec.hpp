#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>

#include "physarum/base/bytes.hpp"
#include "physarum/base/hash.hpp"
#include "physarum/base/ids.hpp"
#include "physarum/base/thread_team.hpp"

#include "physarum/weights/catalogue.hpp"
#include "physarum/weights/change_log.hpp"

namespace physarum::weights {

/// From which state to which a delta leads.
struct DeltaStep {
  base::WeightVersion base;
  base::WeightVersion target;
  friend bool operator==(const DeltaStep&, const DeltaStep&) = default;
};

/// A delta is not what an encoder writes, or not for this step, range or element type.
class CorruptDelta : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Writes the difference of two states of a range of elements (docs/weights.md has the bytes): a
/// sequence of frames, each for at most frame_elements, each guarded by a digest, none where
/// nothing changed. A frame holds the changed elements, found by comparing bits, so NaN, -0 and
/// denormals survive; or all values of its range if that is smaller.
///
/// An element is not sent as a difference, but in a way that tells its new value to whoever has
/// the old one or the new one: applying a delta twice, or to a state that already has some of it,
/// gives the same result. The weight store relies on that.
class DeltaEncoder {
 public:
  static constexpr std::int64_t frame_elements = std::int64_t{1} << 19;

  /// The frames are the same bytes with any team, which outlives the encoder; none: one thread.
  explicit DeltaEncoder(TransferType type, base::ThreadTeam* team = nullptr);
  DeltaEncoder(DeltaEncoder&&) noexcept;
  DeltaEncoder& operator=(DeltaEncoder&&) noexcept;
  ~DeltaEncoder();

  /// Appends to `out` the frames that lead from `before` to `after`, equally long bytes of the
  /// elements from `first_element` on. Returns how many elements differ; nothing if `out` would
  /// grow beyond `capacity_bytes` (then it holds at most a part of the frames). `digests`, if
  /// there are any, are those of the range's blocks, of which it has whole ones, before; they
  /// become those after (those of neither, if nothing is returned).
  std::optional<std::int64_t> encode(std::span<const std::byte> before,
                                     std::span<const std::byte> after, std::int64_t first_element,
                                     DeltaStep step, std::int64_t capacity_bytes, base::Bytes& out,
                                     std::span<base::Digest> digests = {});
  /// The same frames from what was noted (ChangeLog) of each block of a range on the way to these
  /// fp32 values, which are rounded to the transfer type. The range begins at a block's start.
  std::optional<std::int64_t> encode_noted(std::span<const BlockNote> notes,
                                           std::span<const float> values,
                                           std::int64_t first_element, DeltaStep step,
                                           std::int64_t capacity_bytes, base::Bytes& out,
                                           std::span<base::Digest> digests = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Applies frames. Trusts nothing: versions, range, lengths and digest of a frame are checked, and
/// its content is decoded in full, before the first byte of the image changes.
///
/// The image starts at a block's start. `digests`, if there are any, are those of its blocks, and
/// change with it: by what is read and written, not by what the encoder meant.
class DeltaDecoder {
 public:
  /// `team` outlives the decoder; none: one thread.
  explicit DeltaDecoder(TransferType type, base::ThreadTeam* team = nullptr);
  DeltaDecoder(DeltaDecoder&&) noexcept;
  DeltaDecoder& operator=(DeltaDecoder&&) noexcept;
  ~DeltaDecoder();

  /// Applies the first frame of `frames` to `image`, the bytes of the elements from `first_element`
  /// on, and returns its length in bytes. Throws CorruptDelta; the image is then unchanged.
  std::size_t apply_one(std::span<const std::byte> frames, DeltaStep step,
                        std::int64_t first_element, std::span<std::byte> image,
                        std::span<base::Digest> digests = {});
  struct Applied {
    std::size_t bytes = 0;  ///< of `frames`
    std::int64_t frames = 0;
  };
  /// Applies at least one and at most `most_frames` frames, by all threads of the team. Throws
  /// CorruptDelta if one of them is corrupt; others may have been applied then.
  Applied apply_some(std::span<const std::byte> frames, std::int64_t most_frames, DeltaStep step,
                     std::int64_t first_element, std::span<std::byte> image,
                     std::span<base::Digest> digests = {});
  /// Applies all frames; a corrupt one ends it half-way.
  void apply(std::span<const std::byte> frames, DeltaStep step, std::int64_t first_element,
             std::span<std::byte> image);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace physarum::weights
