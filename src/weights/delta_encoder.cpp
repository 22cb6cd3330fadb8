#include <bit>
#include <cstring>
#include <vector>

#include <zstd.h>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"
#include "physarum/base/hash.hpp"
#include "physarum/base/narrow.hpp"

#include "physarum/weights/delta_codec.hpp"

#include "delta_frame.hpp"

namespace physarum::weights {
namespace {

constexpr int zstd_level = 1;
constexpr std::size_t line_bytes = 64;
/// Above this many changes in a frame the raw elements are sent: the compressor could still win a
/// little, for many times the time.
constexpr std::size_t most_changes = static_cast<std::size_t>(DeltaEncoder::frame_elements) / 3;

bool lines_differ(const std::byte* a, const std::byte* b) {
  std::uint64_t difference = 0;
  for (std::size_t i = 0; i < line_bytes; i += 8) {
    std::uint64_t x;
    std::uint64_t y;
    std::memcpy(&x, a + i, 8);
    std::memcpy(&y, b + i, 8);
    difference |= x ^ y;
  }
  return difference != 0;
}

/// Changed elements of a frame, as they are found: gaps in LEB128 and the planes of the values.
struct Changes {
  std::vector<std::byte> gaps = std::vector<std::byte>(most_changes * most_gap_bytes);
  std::vector<std::byte> planes[most_planes];
  std::size_t gap_bytes = 0;
  std::size_t count = 0;

  void clear() { gap_bytes = count = 0; }
  void add_gap(std::size_t gap) {
    while (gap >= 0x80) {
      gaps[gap_bytes++] = static_cast<std::byte>(gap | 0x80);
      gap >>= 7;
    }
    gaps[gap_bytes++] = static_cast<std::byte>(gap);
  }
};

/// Finds the changed elements of one frame. False: more than most_changes.
template <class Element>
bool find_changes(const std::byte* before, const std::byte* after, std::size_t elements,
                  Changes& changes) {
  constexpr std::size_t step = line_bytes / sizeof(Element);
  changes.clear();
  std::size_t next = 0;  // first element after the last change
  for (std::size_t line = 0; line < elements; line += step) {
    const std::size_t end = std::min(line + step, elements);
    const std::size_t offset = line * sizeof(Element);
    if (end == line + step && !lines_differ(before + offset, after + offset)) continue;
    if (changes.count + step > most_changes) return false;
    for (std::size_t i = line; i < end; ++i) {
      Element was;
      Element is;
      std::memcpy(&was, before + i * sizeof(Element), sizeof(Element));
      std::memcpy(&is, after + i * sizeof(Element), sizeof(Element));
      if (was == is) continue;
      changes.add_gap(i - next);
      next = i + 1;
      for (std::size_t plane = 0; plane < sizeof(Element); ++plane) {
        changes.planes[plane][changes.count] = static_cast<std::byte>(is >> (8 * plane));
      }
      ++changes.count;
    }
  }
  return true;
}

template <class Element>
std::size_t count_changes(const std::byte* before, const std::byte* after, std::size_t elements) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < elements; ++i) {
    Element was;
    Element is;
    std::memcpy(&was, before + i * sizeof(Element), sizeof(Element));
    std::memcpy(&is, after + i * sizeof(Element), sizeof(Element));
    count += was != is ? 1U : 0U;
  }
  return count;
}

}  // namespace

struct DeltaEncoder::Impl {
  struct FreeContext {
    void operator()(ZSTD_CCtx* owned) const noexcept { ZSTD_freeCCtx(owned); }
  };

  explicit Impl(TransferType transfer_type)
      : type(transfer_type), width(static_cast<std::size_t>(element_bytes(type))) {
    if (!context) throw std::bad_alloc();
    for (std::size_t plane = 0; plane < width; ++plane) changes.planes[plane].resize(most_changes);
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

  void append_sparse(FrameBody& body, base::Bytes& out) {
    body.kind = FrameKind::sparse;
    body.gap_raw_bytes = base::narrow<std::uint32_t>(changes.gap_bytes);
    body.gap_wire_bytes = append_stream(std::span(changes.gaps).first(changes.gap_bytes), out);
    for (std::size_t plane = 0; plane < width; ++plane) {
      body.plane_wire_bytes[plane] =
          append_stream(std::span(changes.planes[plane]).first(changes.count), out);
    }
  }

  /// One frame for one range; nothing if nothing changed. Returns the count of changed elements.
  std::size_t append_frame(std::span<const std::byte> before, std::span<const std::byte> after,
                           std::int64_t first, DeltaStep step, base::Bytes& out) {
    const std::size_t elements = after.size() / width;
    const bool narrow_elements = type == TransferType::bf16;
    const bool few =
        narrow_elements
            ? find_changes<std::uint16_t>(before.data(), after.data(), elements, changes)
            : find_changes<std::uint32_t>(before.data(), after.data(), elements, changes);
    if (few && changes.count == 0) return 0;
    FrameBody body{};
    body.base = step.base.value();
    body.target = step.target.value();
    body.first = first;
    body.elements = base::narrow<std::uint32_t>(elements);
    body.element_bytes = base::narrow<std::uint8_t>(width);
    const std::size_t start = out.size();
    const std::size_t payload = start + sizeof(FrameHead) + sizeof(FrameBody);
    out.resize(payload);
    if (few) append_sparse(body, out);
    if (!few || out.size() - payload >= after.size()) {
      out.resize(payload);
      body = FrameBody{body.base,
                       body.target,
                       body.first,
                       body.elements,
                       0,
                       FrameKind::dense,
                       body.element_bytes,
                       0,
                       0,
                       0,
                       {},
                       0};
      out.insert(out.end(), after.begin(), after.end());
    }
    const std::size_t changed =
        few ? changes.count
            : (narrow_elements
                   ? count_changes<std::uint16_t>(before.data(), after.data(), elements)
                   : count_changes<std::uint32_t>(before.data(), after.data(), elements));
    body.changed = base::narrow<std::uint32_t>(changed);
    seal(body, start, out);
    return changed;
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
