#include <algorithm>
#include <cstring>
#include <vector>

#include "physarum/weights/delta_codec.hpp"

#include "frame_decoder.hpp"
#include "store_layout.hpp"

namespace physarum::weights {
namespace {

/// A frame as it says of itself; nothing of it is proven.
struct FrameOutline {
  std::span<const std::byte> bytes;
  std::int64_t first = 0;
  std::int64_t elements = 0;
  [[nodiscard]] std::int64_t last() const {
    return first + std::max<std::int64_t>(elements, 1) - 1;
  }
};

/// The next `most` frames. Ends before one that is cut off, or that does not lie behind the one
/// before it and in other blocks: only such frames may be applied at the same time, as elements
/// and digests then have one writer.
std::vector<FrameOutline> outline(std::span<const std::byte> frames, std::size_t most,
                                  std::int64_t block_elements) {
  std::vector<FrameOutline> found;
  constexpr std::size_t shortest = sizeof(FrameHead) + sizeof(FrameBody);
  while (found.size() < most && frames.size() >= shortest) {
    FrameHead head;
    FrameBody body;
    std::memcpy(&head, frames.data(), sizeof head);
    std::memcpy(&body, frames.data() + sizeof head, sizeof body);
    const std::size_t bytes = sizeof head + head.body_bytes;
    if (bytes < shortest || bytes > frames.size()) break;
    if (body.first < 0) break;
    if (!found.empty() && body.first - found.back().elements < found.back().first) break;
    if (!found.empty() && body.first / block_elements == found.back().last() / block_elements)
      break;
    found.push_back({frames.first(bytes), body.first, body.elements});
    frames = frames.subspan(bytes);
  }
  return found;
}

}  // namespace

struct DeltaDecoder::Impl {
  Impl(TransferType type, base::ThreadTeam* threads)
      : team(threads), block_elements(StoreLayout::block_bytes / element_bytes(type)) {
    const int size = team == nullptr ? 1 : team->size();
    for (int i = 0; i < size; ++i) {
      decoders.emplace_back(static_cast<std::size_t>(element_bytes(type)));
    }
  }

  base::ThreadTeam* team;
  std::int64_t block_elements;
  std::vector<FrameDecoder> decoders;  // by thread
};

DeltaDecoder::DeltaDecoder(TransferType type, base::ThreadTeam* team)
    : impl_(std::make_unique<Impl>(type, team)) {}
DeltaDecoder::DeltaDecoder(DeltaDecoder&&) noexcept = default;
DeltaDecoder& DeltaDecoder::operator=(DeltaDecoder&&) noexcept = default;
DeltaDecoder::~DeltaDecoder() = default;

std::size_t DeltaDecoder::apply_one(std::span<const std::byte> frames, DeltaStep step,
                                    std::int64_t first_element, std::span<std::byte> image,
                                    std::span<base::Digest> digests) {
  return impl_->decoders.front().apply(frames, step, first_element, image, digests);
}

DeltaDecoder::Applied DeltaDecoder::apply_some(std::span<const std::byte> frames,
                                               std::int64_t most_frames, DeltaStep step,
                                               std::int64_t first_element,
                                               std::span<std::byte> image,
                                               std::span<base::Digest> digests) {
  const auto found =
      impl_->decoders.size() > 1
          ? outline(frames, static_cast<std::size_t>(most_frames), impl_->block_elements)
          : std::vector<FrameOutline>{};
  if (found.size() < 2) return {apply_one(frames, step, first_element, image, digests), 1};
  impl_->team->run([&](int thread) {
    const auto part = base::part_of(std::ssize(found), thread, impl_->team->size());
    for (const FrameOutline& frame : std::span(found).subspan(
             static_cast<std::size_t>(part.first), static_cast<std::size_t>(part.count))) {
      impl_->decoders[static_cast<std::size_t>(thread)].apply(frame.bytes, step, first_element,
                                                              image, digests);
    }
  });
  Applied applied{0, std::ssize(found)};
  for (const FrameOutline& frame : found) applied.bytes += frame.bytes.size();
  return applied;
}

void DeltaDecoder::apply(std::span<const std::byte> frames, DeltaStep step,
                         std::int64_t first_element, std::span<std::byte> image) {
  constexpr std::int64_t at_once = 64;
  while (!frames.empty()) {
    frames = frames.subspan(apply_some(frames, at_once, step, first_element, image).bytes);
  }
}

}  // namespace physarum::weights
