#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <zstd.h>

#include "physarum/base/hash.hpp"

#include "physarum/weights/delta_codec.hpp"

#include "delta_frame.hpp"

namespace physarum::weights {

/// A frame whose digest is right: the body and what follows it.
struct OpenFrame {
  FrameBody body;
  std::span<const std::byte> payload;
  std::size_t bytes;
};

/// Applies single frames of a delta. Keeps its memory between them; one thread.
class FrameDecoder {
 public:
  explicit FrameDecoder(std::size_t width);

  /// As DeltaDecoder::apply_one().
  std::size_t apply(std::span<const std::byte> frames, DeltaStep step, std::int64_t first_element,
                    std::span<std::byte> image, std::span<base::Digest> digests);

 private:
  struct FreeContext {
    void operator()(ZSTD_DCtx* owned) const noexcept { ZSTD_freeDCtx(owned); }
  };
  std::span<const std::byte> stream(std::span<const std::byte>& payload, std::size_t wire,
                                    std::size_t raw, std::vector<std::byte>& memory);
  template <class Element>
  void apply_at(const OpenFrame& frame, std::size_t position, std::span<std::byte> image,
                std::span<base::Digest> digests);
  // `note` is told of each element what it was and what it is now.
  template <class Element, class Note>
  void apply_body(const OpenFrame& frame, std::byte* image, const Note& note);
  template <class Element, class Note>
  void apply_sparse(const OpenFrame& frame, std::byte* image, const Note& note);
  template <class Element, class Note>
  void move_near(std::span<const std::byte> residues, unsigned residue_bits, std::byte* image,
                 const Note& note) const;
  template <class Element, class Note>
  void scatter(const std::span<const std::byte> (&values)[most_planes], std::byte* image,
               const Note& note) const;

  std::size_t width_;
  std::unique_ptr<ZSTD_DCtx, FreeContext> context_{ZSTD_createDCtx()};
  std::vector<std::byte> planes_[most_planes];
  std::vector<std::uint32_t> near_;  // positions
  std::vector<std::uint32_t> far_;
};

}  // namespace physarum::weights
