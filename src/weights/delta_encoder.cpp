#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include <zstd.h>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"
#include "physarum/base/hash.hpp"
#include "physarum/base/narrow.hpp"

#include "physarum/weights/delta_codec.hpp"

#include "bit_stream.hpp"
#include "changed_elements.hpp"
#include "delta_frame.hpp"

namespace physarum::weights {
namespace {

constexpr int zstd_level = 1;
/// Above this many far changes in a frame the raw elements are sent: the compressor could still win
/// a little, for many times the time.
constexpr std::size_t most_far = static_cast<std::size_t>(DeltaEncoder::frame_elements) / 3;
/// Share of a far value's bits that is left of it on the wire, about.
constexpr double far_share = 0.8;

/// An element that changed: where, its new bits, and how many bits |new - old| has.
struct Change {
  std::uint32_t position;
  std::uint32_t value;
  std::uint32_t distance_bits;
};

/// Changed elements of a frame, as they are found, and room for the far ones.
struct Changes {
  std::vector<Change> all = std::vector<Change>(DeltaEncoder::frame_elements);
  std::size_t count = 0;
  std::array<std::size_t, 33> with_distance_bits{};
  std::vector<std::uint32_t> far_positions = std::vector<std::uint32_t>(most_far);
  std::vector<std::byte> planes[most_planes];
};

/// Elements that are compared at a time: both sides are then still in the nearest cache when the
/// changed ones are looked at.
constexpr std::size_t elements_at_once = 4096;

template <class Element>
void find_changes(const std::byte* before, const std::byte* after, std::size_t elements,
                  Changes& changes) {
  const FindChanged find = find_changed(sizeof(Element));
  std::uint32_t positions[elements_at_once + position_slack];
  // Two counters each: the next change mostly has the same distance, and would wait for one.
  std::array<std::array<std::uint32_t, 33>, 2> with_distance_bits{};
  Change* to = changes.all.data();
  for (std::size_t first = 0; first < elements; first += elements_at_once) {
    const std::size_t found =
        find(before + first * sizeof(Element), after + first * sizeof(Element),
             std::min(elements_at_once, elements - first), positions);
    for (std::size_t i = 0; i < found; ++i) {
      const std::size_t position = first + positions[i];
      Element was, is;
      std::memcpy(&was, before + position * sizeof(Element), sizeof was);
      std::memcpy(&is, after + position * sizeof(Element), sizeof is);
      const auto up = static_cast<Element>(is - was);
      const auto down = static_cast<Element>(was - is);
      const auto bits = static_cast<std::uint32_t>(std::bit_width(std::min(up, down)));
      *to++ = {static_cast<std::uint32_t>(position), is, bits};
      ++with_distance_bits[i % 2][bits];
    }
  }
  changes.count = static_cast<std::size_t>(to - changes.all.data());
  for (std::size_t bits = 0; bits < changes.with_distance_bits.size(); ++bits) {
    changes.with_distance_bits[bits] = with_distance_bits[0][bits] + with_distance_bits[1][bits];
  }
}

/// The residue bits for which near and far values together are shortest.
unsigned best_residue_bits(const Changes& changes, std::size_t width) {
  const double far_bits = far_share * 8 * static_cast<double>(width);
  unsigned best = 0;
  double best_cost = 0;
  std::size_t near = 0;
  for (unsigned bits = 2; bits <= std::min<std::size_t>(8 * width, most_residue_bits); ++bits) {
    near += changes.with_distance_bits[bits - 1];
    const double cost =
        static_cast<double>(near) * bits + static_cast<double>(changes.count - near) * far_bits;
    if (best != 0 && cost >= best_cost) continue;
    best = bits;
    best_cost = cost;
  }
  return best;
}

}  // namespace

struct DeltaEncoder::Impl {
  struct FreeContext {
    void operator()(ZSTD_CCtx* owned) const noexcept { ZSTD_freeCCtx(owned); }
  };

  explicit Impl(TransferType transfer_type)
      : type(transfer_type), width(static_cast<std::size_t>(element_bytes(type))) {
    if (!context) throw std::bad_alloc();
    for (std::size_t plane = 0; plane < width; ++plane) changes.planes[plane].resize(most_far);
  }

  /// Appends a stream, compressed if that is smaller; returns its length on the wire.
  std::uint32_t append_stream(std::span<const std::byte> raw, base::Bytes& out) {
    const std::size_t start = out.size();
    out.resize(start + ZSTD_compressBound(raw.size()));
    const std::size_t length = ZSTD_compressCCtx(
        context.get(), out.data() + start, out.size() - start, raw.data(), raw.size(), zstd_level);
    if (ZSTD_isError(length) != 0U) {
      throw base::WorldError("ZSTD_compressCCtx", 0, ZSTD_getErrorName(length));
    }
    if (length >= raw.size()) {
      std::memcpy(out.data() + start, raw.data(), raw.size());
      out.resize(start + raw.size());
      return base::narrow<std::uint32_t>(raw.size());
    }
    out.resize(start + length);
    return base::narrow<std::uint32_t>(length);
  }

  static void append(std::span<const std::byte> bytes, base::Bytes& out) {
    out.insert(out.end(), bytes.begin(), bytes.end());
  }

  /// The near changes; puts the far ones aside.
  void append_near(FrameBody& body, base::Bytes& out) {
    const unsigned low = low_bits(body.near.count, body.elements);
    const unsigned residue_bits = body.residue_bits;
    BitWriter gaps(gap_memory, most_gap_bits(body.near.count, low, body.elements));
    BitWriter residues(residue_memory, body.near.count * residue_bits);
    const std::uint32_t mask = (1U << residue_bits) - 1;
    std::uint32_t next = 0;
    std::size_t far = 0;
    for (const Change& change : std::span(changes.all).first(changes.count)) {
      if (change.distance_bits >= residue_bits) {
        changes.far_positions[far] = change.position;
        for (std::size_t plane = 0; plane < width; ++plane) {
          changes.planes[plane][far] = static_cast<std::byte>(change.value >> (8 * plane));
        }
        ++far;
        continue;
      }
      gaps.put_rice(change.position - next, low);
      residues.put(change.value & mask, residue_bits);
      next = change.position + 1;
    }
    const auto bytes = gaps.finish();
    body.near.bytes = base::narrow<std::uint32_t>(bytes.size());
    append(bytes, out);
    append(residues.finish(), out);
  }

  void append_far(FrameBody& body, base::Bytes& out) {
    if (body.far.count == 0) return;
    const unsigned low = low_bits(body.far.count, body.elements);
    BitWriter gaps(gap_memory, most_gap_bits(body.far.count, low, body.elements));
    std::uint32_t next = 0;
    for (const std::uint32_t position : std::span(changes.far_positions).first(body.far.count)) {
      gaps.put_rice(position - next, low);
      next = position + 1;
    }
    const auto bytes = gaps.finish();
    body.far.bytes = base::narrow<std::uint32_t>(bytes.size());
    append(bytes, out);
    for (std::size_t plane = 0; plane < width; ++plane) {
      body.plane_wire_bytes[plane] =
          append_stream(std::span(changes.planes[plane]).first(body.far.count), out);
    }
  }

  /// One frame for one range; nothing if nothing changed. Returns the count of changed elements.
  std::size_t append_frame(std::span<const std::byte> before, std::span<const std::byte> after,
                           std::int64_t first, DeltaStep step, base::Bytes& out) {
    const std::size_t elements = after.size() / width;
    if (type == TransferType::bf16)
      find_changes<std::uint16_t>(before.data(), after.data(), elements, changes);
    else
      find_changes<std::uint32_t>(before.data(), after.data(), elements, changes);
    if (changes.count == 0) return 0;
    FrameBody body{};
    body.base = step.base.value();
    body.target = step.target.value();
    body.first = first;
    body.elements = base::narrow<std::uint32_t>(elements);
    body.element_bytes = base::narrow<std::uint8_t>(width);
    const FrameBody empty = body;
    const std::size_t start = out.size();
    const std::size_t payload = start + sizeof(FrameHead) + sizeof(FrameBody);
    out.resize(payload);
    body.kind = FrameKind::sparse;
    body.residue_bits = static_cast<std::uint8_t>(best_residue_bits(changes, width));
    for (std::size_t bits = 0; bits < body.residue_bits; ++bits) {
      body.near.count += static_cast<std::uint32_t>(changes.with_distance_bits[bits]);
    }
    body.far.count = base::narrow<std::uint32_t>(changes.count) - body.near.count;
    const bool few = body.far.count <= most_far;
    if (few) {
      append_near(body, out);
      append_far(body, out);
    }
    if (!few || out.size() - payload >= after.size()) {
      out.resize(payload);
      body = empty;
      body.kind = FrameKind::dense;
      body.far.count = base::narrow<std::uint32_t>(changes.count);
      out.insert(out.end(), after.begin(), after.end());
    }
    seal(body, start, out);
    return changes.count;
  }

  static void seal(const FrameBody& body, std::size_t start, base::Bytes& out) {
    std::memcpy(out.data() + start + sizeof(FrameHead), &body, sizeof body);
    const auto covered = std::span(out).subspan(start + sizeof(FrameHead));
    const base::Digest digest = base::digest128(covered);
    const FrameHead head{frame_magic, base::narrow<std::uint32_t>(covered.size()), digest.low,
                         digest.high};
    std::memcpy(out.data() + start, &head, sizeof head);
  }

  TransferType type;
  std::size_t width;
  std::unique_ptr<ZSTD_CCtx, FreeContext> context{ZSTD_createCCtx()};
  Changes changes;
  std::vector<std::byte> gap_memory;
  std::vector<std::byte> residue_memory;
};

DeltaEncoder::DeltaEncoder(TransferType type) : impl_(std::make_unique<Impl>(type)) {}
DeltaEncoder::DeltaEncoder(DeltaEncoder&&) noexcept = default;
DeltaEncoder& DeltaEncoder::operator=(DeltaEncoder&&) noexcept = default;
DeltaEncoder::~DeltaEncoder() = default;

std::optional<std::int64_t> DeltaEncoder::encode(std::span<const std::byte> before,
                                                 std::span<const std::byte> after,
                                                 std::int64_t first_element, DeltaStep step,
                                                 std::int64_t capacity_bytes, base::Bytes& out) {
  base::expects(before.size() == after.size() && after.size() % impl_->width == 0,
                "both states hold the same whole elements");
  const std::size_t limit = out.size() + static_cast<std::size_t>(capacity_bytes);
  const std::size_t frame_bytes = static_cast<std::size_t>(frame_elements) * impl_->width;
  std::size_t changed = 0;
  for (std::size_t offset = 0; offset < after.size(); offset += frame_bytes) {
    const std::size_t length = std::min(frame_bytes, after.size() - offset);
    changed += impl_->append_frame(before.subspan(offset, length), after.subspan(offset, length),
                                   first_element + static_cast<std::int64_t>(offset / impl_->width),
                                   step, out);
    if (out.size() > limit) return std::nullopt;
  }
  return static_cast<std::int64_t>(changed);
}

}  // namespace physarum::weights
