#include "frame_decoder.hpp"

#include <algorithm>
#include <cstring>

#include "physarum/base/hash.hpp"

#include "bit_stream.hpp"
#include "keyed_sums.hpp"

namespace physarum::weights {
namespace {

/// How far ahead of a change its place is asked for.
constexpr std::size_t changes_ahead = 56;

void require(bool condition, const char* what) {
  if (!condition) throw CorruptDelta(what);
}

OpenFrame open_frame(std::span<const std::byte> frames) {
  require(frames.size() >= sizeof(FrameHead), "a weight delta ends inside a frame's head");
  FrameHead head;
  std::memcpy(&head, frames.data(), sizeof head);
  require(head.magic == frame_magic, "a weight delta has bytes that are no frame");
  const auto rest = frames.subspan(sizeof head);
  require(head.body_bytes >= sizeof(FrameBody) && head.body_bytes <= rest.size(),
          "a weight delta ends inside a frame");
  const auto covered = rest.first(head.body_bytes);
  require(base::digest128(covered) == base::Digest{head.digest_low, head.digest_high},
          "a frame of a weight delta has a wrong digest");
  OpenFrame frame{{}, covered.subspan(sizeof(FrameBody)), sizeof head + head.body_bytes};
  std::memcpy(&frame.body, covered.data(), sizeof frame.body);
  return frame;
}

/// A digest proves that the bytes arrived, not that an honest encoder wrote them.
void check_lengths(const OpenFrame& frame, std::size_t width) {
  const FrameBody& body = frame.body;
  require(body.elements >= 1 && body.elements <= DeltaEncoder::frame_elements,
          "a frame has a wrong count of elements");
  const auto elements = std::uint64_t{body.elements};
  const std::uint64_t near = body.near.count;
  const std::uint64_t far = body.far.count;
  require(near + far >= 1 && near + far <= elements, "a frame has a wrong count of changes");
  require(body.zero == 0, "a frame has bytes where zeros belong");
  require(body.residue_bits <= std::min<std::size_t>(8 * width, most_residue_bits),
          "a frame's values are coded in an unknown way");
  std::uint64_t wire = std::uint64_t{body.near.bytes} + residue_bytes(body) + body.far.bytes;
  for (const std::uint32_t plane : body.plane_wire_bytes) wire += plane;
  if (body.kind == FrameKind::dense) {
    require(wire == 0 && near == 0 && body.residue_bits == 0 &&
                frame.payload.size() == elements * width,
            "a dense frame has a wrong length");
    return;
  }
  require(body.kind == FrameKind::sparse, "a frame is of an unknown kind");
  require(wire == frame.payload.size(), "a sparse frame has a wrong length");
  require(body.residue_bits >= 2, "a frame's values are coded in an unknown way");
  for (std::size_t plane = 0; plane < most_planes; ++plane) {
    require(plane < width ? body.plane_wire_bytes[plane] <= far : body.plane_wire_bytes[plane] == 0,
            "a frame's values have a wrong length");
  }
}

/// Gaps to positions inside the frame; strictly ascending by construction. Their places in memory,
/// elements of `width` bytes from `image` on, are asked for as they become known.
void read_positions(std::span<const std::byte> bytes, std::uint32_t count, std::uint32_t elements,
                    const std::byte* image, std::size_t width,
                    std::vector<std::uint32_t>& positions) {
  positions.resize(count);
  const unsigned low = low_bits(count, elements);
  BitReader bits(bytes);
  std::uint64_t next = 0;
  for (std::uint32_t& position : positions) {
    const std::uint64_t gap = bits.take_rice(low, elements >> low);
    require(next + gap < elements, "a change is beyond its frame");
    position = static_cast<std::uint32_t>(next + gap);
    __builtin_prefetch(image + position * width, 1);
    next += gap + 1;
  }
  require(bits.at_end(), "a frame has more gaps than changes");
}

std::span<const std::byte> take(std::span<const std::byte>& payload, std::size_t bytes) {
  const auto taken = payload.first(bytes);
  payload = payload.subspan(bytes);
  return taken;
}

}  // namespace

FrameDecoder::FrameDecoder(std::size_t width) : width_(width) {
  if (!context_) throw std::bad_alloc();
}

/// Takes one stream from the front of `payload` and gives its raw bytes, exactly `raw` of them.
std::span<const std::byte> FrameDecoder::stream(std::span<const std::byte>& payload,
                                                std::size_t wire, std::size_t raw,
                                                std::vector<std::byte>& memory) {
  const auto bytes = payload.first(wire);
  payload = payload.subspan(wire);
  if (wire == raw) return bytes;
  memory.resize(raw);
  const std::size_t length =
      ZSTD_decompressDCtx(context_.get(), memory.data(), raw, bytes.data(), bytes.size());
  require(ZSTD_isError(length) == 0U && length == raw, "a frame does not decompress");
  return memory;
}

/// Goes to the next value that has these lowest bits: the new one, from the old one and from the
/// new one. Whoever is as far up as down, because later deltas were already applied, stays; the
/// deltas that follow lead back.
template <class Element, class Note>
void FrameDecoder::move_near(std::span<const std::byte> residues, unsigned residue_bits,
                             std::byte* image, const Note& note) const {
  const std::uint32_t mask = (1U << residue_bits) - 1;
  const std::uint32_t half = 1U << (residue_bits - 1);
  BitReader bits(residues);
  for (std::size_t i = 0; i < near_.size(); ++i) {
    // The places lie apart, so that nobody else foresees them.
    const std::size_t later = std::min(i + changes_ahead, near_.size() - 1);
    __builtin_prefetch(image + near_[later] * sizeof(Element), 1);
    std::byte* const place = image + near_[i] * sizeof(Element);
    Element was;
    std::memcpy(&was, place, sizeof was);
    const auto residue = static_cast<std::uint32_t>(bits.take(residue_bits));
    const std::uint32_t up = (residue - was) & mask;
    // Half go up and half go down: a branch would be guessed wrong every other time.
    const std::uint32_t way = up > half ? up - (mask + 1) : up;
    const auto is = static_cast<Element>(was + (up == half ? 0 : way));
    std::memcpy(place, &is, sizeof is);
    note(near_[i], was, is);
  }
}

template <class Element, class Note>
void FrameDecoder::scatter(const std::span<const std::byte> (&values)[most_planes],
                           std::byte* image, const Note& note) const {
  for (std::size_t i = 0; i < far_.size(); ++i) {
    std::byte* const place = image + far_[i] * sizeof(Element);
    Element was;
    std::memcpy(&was, place, sizeof was);
    std::uint32_t is = 0;
    for (std::size_t plane = 0; plane < sizeof(Element); ++plane) {
      is |= std::to_integer<std::uint32_t>(values[plane][i]) << (8 * plane);
    }
    const auto value = static_cast<Element>(is);
    std::memcpy(place, &value, sizeof value);
    note(far_[i], was, value);
  }
}

template <class Element, class Note>
void FrameDecoder::apply_sparse(const OpenFrame& frame, std::byte* image, const Note& note) {
  const FrameBody& body = frame.body;
  auto payload = frame.payload;
  read_positions(take(payload, body.near.bytes), body.near.count, body.elements, image,
                 sizeof(Element), near_);
  const auto residues = take(payload, residue_bytes(body));
  read_positions(take(payload, body.far.bytes), body.far.count, body.elements, image,
                 sizeof(Element), far_);
  std::span<const std::byte> values[most_planes];
  for (std::size_t plane = 0; plane < width_; ++plane) {
    values[plane] = stream(payload, body.plane_wire_bytes[plane], body.far.count, planes_[plane]);
  }
  move_near<Element>(residues, body.residue_bits, image, note);
  scatter<Element>(values, image, note);
}

template <class Element, class Note>
void FrameDecoder::apply_body(const OpenFrame& frame, std::byte* image, const Note& note) {
  if (frame.body.kind != FrameKind::dense) return apply_sparse<Element>(frame, image, note);
  for (std::size_t i = 0; i < frame.body.elements; ++i) {
    Element was, is;
    std::memcpy(&was, image + i * sizeof(Element), sizeof was);
    std::memcpy(&is, frame.payload.data() + i * sizeof(Element), sizeof is);
    note(i, was, is);
  }
  std::memcpy(image, frame.payload.data(), frame.payload.size());
}

template <class Element>
void FrameDecoder::apply_at(const OpenFrame& frame, std::size_t position,
                            std::span<std::byte> image, std::span<base::Digest> digests) {
  std::byte* const target = image.data() + position * sizeof(Element);
  if (digests.empty()) return apply_body<Element>(frame, target, NoSums{});
  apply_body<Element>(frame, target, ChangedSums<Element>(digests, position));
}

std::size_t FrameDecoder::apply(std::span<const std::byte> frames, DeltaStep step,
                                std::int64_t first_element, std::span<std::byte> image,
                                std::span<base::Digest> digests) {
  const OpenFrame frame = open_frame(frames);
  const FrameBody& body = frame.body;
  require(body.base == step.base.value() && body.target == step.target.value(),
          "a frame belongs to another step");
  require(body.element_bytes == width_, "a frame is of another element type");
  check_lengths(frame, width_);
  const auto elements = static_cast<std::int64_t>(image.size() / width_);
  require(body.first >= first_element && body.first - first_element <= elements &&
              body.elements <= elements - (body.first - first_element),
          "a frame is beyond its range");
  const auto position = static_cast<std::size_t>(body.first - first_element);
  width_ == 2 ? apply_at<std::uint16_t>(frame, position, image, digests)
              : apply_at<std::uint32_t>(frame, position, image, digests);
  return frame.bytes;
}

}  // namespace physarum::weights
