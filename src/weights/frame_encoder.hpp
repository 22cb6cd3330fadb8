#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <zstd.h>

#include "physarum/weights/delta_codec.hpp"

#include "delta_frame.hpp"
#include "frame_changes.hpp"

namespace physarum::weights {

/// Writes single frames of a delta. Keeps its memory between them; one thread.
class FrameEncoder {
 public:
  explicit FrameEncoder(std::size_t width);

  /// Appends the frame that leads from one state to the other, the elements from `first` on;
  /// nothing if nothing changed. Returns the count of changed elements.
  std::size_t append_frame(const FrameStates& states, std::int64_t first, DeltaStep step,
                           base::Bytes& out);

 private:
  struct FreeContext {
    void operator()(ZSTD_CCtx* owned) const noexcept { ZSTD_freeCCtx(owned); }
  };
  void append_changes(const FrameStates& states, FrameBody& body, base::Bytes& out);
  void append_near(FrameBody& body, base::Bytes& out);
  void append_far(FrameBody& body, base::Bytes& out);
  std::uint32_t append_stream(std::span<const std::byte> raw, base::Bytes& out);

  std::size_t width_;
  std::unique_ptr<ZSTD_CCtx, FreeContext> context_{ZSTD_createCCtx()};
  Changes changes_;
  std::vector<std::byte> gap_memory_;
  std::vector<std::byte> residue_memory_;
};

}  // namespace physarum::weights
