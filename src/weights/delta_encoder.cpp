#include <algorithm>
#include <atomic>
#include <vector>

#include "physarum/base/contracts.hpp"

#include "physarum/weights/delta_codec.hpp"

#include "frame_encoder.hpp"
#include "store_layout.hpp"

namespace physarum::weights {
namespace {

/// Frames that a thread takes at a time: few enough that all end at about the same time.
constexpr std::size_t frames_at_once = 2;

}  // namespace

struct DeltaEncoder::Impl {
  Impl(TransferType type, base::ThreadTeam* threads)
      : width(static_cast<std::size_t>(element_bytes(type))), team(threads) {
    const int size = team == nullptr ? 1 : team->size();
    for (int i = 0; i < size; ++i) encoders.emplace_back(width);
  }

  struct Work {
    FrameStates states;  // of the whole range
    std::int64_t first_element;
    DeltaStep step;
    std::size_t limit;  // bytes
  };

  /// A frame's part of the states.
  [[nodiscard]] FrameStates part_of(const FrameStates& all, std::size_t frame) const {
    constexpr auto block = static_cast<std::size_t>(StoreLayout::block_bytes);
    const std::size_t first = frame * static_cast<std::size_t>(frame_elements);
    FrameStates part = all;
    part.elements = std::min(static_cast<std::size_t>(frame_elements), all.elements - first);
    if (all.notes != nullptr) {
      part.values += first;
      part.notes += first * width / block;
    } else {
      part.before += first * width;
      part.after += first * width;
    }
    if (!all.digests.empty()) part.digests = all.digests.subspan(first * width / block);
    return part;
  }

  /// Appends frames `begin` to `end`, until there are more than `work.limit` bytes.
  std::size_t append_frames(FrameEncoder& encoder, const Work& work, std::size_t begin,
                            std::size_t end, base::Bytes& out) const {
    std::size_t changed = 0;
    for (std::size_t frame = begin; frame < end && out.size() <= work.limit; ++frame) {
      const auto first = work.first_element + static_cast<std::int64_t>(frame) * frame_elements;
      changed += encoder.append_frame(part_of(work.states, frame), first, work.step, out);
    }
    return changed;
  }

  std::optional<std::int64_t> append_all(const Work& work, base::Bytes& out) {
    constexpr auto most = static_cast<std::size_t>(frame_elements);
    const std::size_t frames = (work.states.elements + most - 1) / most;
    if (encoders.size() > 1 && frames > 1) {
      const auto changed = append_together(work, frames, out);
      if (!changed) return std::nullopt;
      return static_cast<std::int64_t>(*changed);
    }
    const std::size_t changed = append_frames(encoders.front(), work, 0, frames, out);
    if (out.size() > work.limit) return std::nullopt;
    return static_cast<std::int64_t>(changed);
  }

  /// The same by all threads: each takes the next few frames and writes them into memory of their
  /// own, so that they end up in their order.
  std::optional<std::size_t> append_together(const Work& work, std::size_t frames,
                                             base::Bytes& out) {
    const std::size_t parts = (frames + frames_at_once - 1) / frames_at_once;
    if (pieces.size() < parts) pieces.resize(parts);
    std::atomic<std::size_t> next{0};
    std::atomic<std::size_t> changed{0};
    std::atomic<std::size_t> written{out.size()};
    team->run([&](int thread) {
      for (std::size_t part; (part = next++) < parts && written <= work.limit;) {
        pieces[part].clear();
        changed +=
            append_frames(encoders[static_cast<std::size_t>(thread)], work, part * frames_at_once,
                          std::min(frames, (part + 1) * frames_at_once), pieces[part]);
        written += pieces[part].size();
      }
    });
    if (written > work.limit) return std::nullopt;  // and not all were written
    for (const base::Bytes& piece : std::span(pieces).first(parts)) {
      out.insert(out.end(), piece.begin(), piece.end());
    }
    return changed;
  }

  std::size_t width;
  base::ThreadTeam* team;
  std::vector<FrameEncoder> encoders;  // by thread
  std::vector<base::Bytes> pieces;
};

DeltaEncoder::DeltaEncoder(TransferType type, base::ThreadTeam* team)
    : impl_(std::make_unique<Impl>(type, team)) {}
DeltaEncoder::DeltaEncoder(DeltaEncoder&&) noexcept = default;
DeltaEncoder& DeltaEncoder::operator=(DeltaEncoder&&) noexcept = default;
DeltaEncoder::~DeltaEncoder() = default;

std::optional<std::int64_t> DeltaEncoder::encode(std::span<const std::byte> before,
                                                 std::span<const std::byte> after,
                                                 std::int64_t first_element, DeltaStep step,
                                                 std::int64_t capacity_bytes, base::Bytes& out,
                                                 std::span<base::Digest> digests) {
  base::expects(before.size() == after.size() && after.size() % impl_->width == 0,
                "both states hold the same whole elements");
  const FrameStates states{.before = before.data(),
                           .after = after.data(),
                           .digests = digests,
                           .elements = after.size() / impl_->width};
  return impl_->append_all(
      {states, first_element, step, out.size() + static_cast<std::size_t>(capacity_bytes)}, out);
}

std::optional<std::int64_t> DeltaEncoder::encode_noted(std::span<const BlockNote> notes,
                                                       std::span<const float> values,
                                                       std::int64_t first_element, DeltaStep step,
                                                       std::int64_t capacity_bytes,
                                                       base::Bytes& out,
                                                       std::span<base::Digest> digests) {
  const auto bytes = static_cast<std::int64_t>(values.size() * impl_->width);
  base::expects(std::ssize(notes) == StoreLayout::blocks_of({0, bytes}), "a note of each block");
  const FrameStates states{.values = values.data(),
                           .notes = notes.data(),
                           .digests = digests,
                           .elements = values.size()};
  return impl_->append_all(
      {states, first_element, step, out.size() + static_cast<std::size_t>(capacity_bytes)}, out);
}

}  // namespace physarum::weights
