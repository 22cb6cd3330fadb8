#include <cstring>
#include <vector>

#include <zstd.h>

#include "physarum/base/contracts.hpp"
#include "physarum/base/hash.hpp"

#include "physarum/weights/delta_codec.hpp"

#include "delta_frame.hpp"

namespace physarum::weights {
namespace {

void require(bool condition, const char* what) {
  if (!condition) throw CorruptDelta(what);
}

/// A frame whose digest is right: the body and what follows it.
struct OpenFrame {
  FrameBody body;
  std::span<const std::byte> payload;
  std::size_t bytes;
};

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
  require(body.zero == 0 && body.zero_too == 0, "a frame has bytes where zeros belong");
  require(body.elements >= 1 && body.elements <= DeltaEncoder::frame_elements,
          "a frame has a wrong count of elements");
  require(body.changed >= 1 && body.changed <= body.elements,
          "a frame has a wrong count of changes");
  std::size_t wire = body.gap_wire_bytes;
  for (const std::uint32_t plane : body.plane_wire_bytes) wire += plane;
  if (body.kind == FrameKind::dense) {
    require(wire == 0 && body.gap_raw_bytes == 0 && frame.payload.size() == body.elements * width,
            "a dense frame has a wrong length");
    return;
  }
  require(body.kind == FrameKind::sparse, "a frame is of an unknown kind");
  require(wire == frame.payload.size(), "a sparse frame has a wrong length");
  require(body.gap_raw_bytes >= body.changed &&
              body.gap_raw_bytes <= most_gap_bytes * body.changed &&
              body.gap_wire_bytes <= body.gap_raw_bytes,
          "a frame's gaps have a wrong length");
  for (std::size_t plane = 0; plane < most_planes; ++plane) {
    require(plane < width ? body.plane_wire_bytes[plane] <= body.changed
                          : body.plane_wire_bytes[plane] == 0,
            "a frame's values have a wrong length");
  }
}

}  // namespace

struct DeltaDecoder::Impl {
  struct FreeContext {
    void operator()(ZSTD_DCtx* owned) const noexcept { ZSTD_freeDCtx(owned); }
  };

  explicit Impl(TransferType type) : width(static_cast<std::size_t>(element_bytes(type))) {
    if (!context) throw std::bad_alloc();
  }

  /// Takes one stream from the front of `payload` and gives its raw bytes, exactly `raw` of them.
  std::span<const std::byte> stream(std::span<const std::byte>& payload, std::size_t wire,
                                    std::size_t raw, std::vector<std::byte>& memory) {
    const auto bytes = payload.first(wire);
    payload = payload.subspan(wire);
    if (wire == raw) return bytes;
    memory.resize(raw);
    const std::size_t length =
        ZSTD_decompressDCtx(context.get(), memory.data(), raw, bytes.data(), bytes.size());
    require(ZSTD_isError(length) == 0U && length == raw, "a frame does not decompress");
    return memory;
  }

  /// Gaps to positions inside the frame; strictly ascending by construction.
  void read_positions(std::span<const std::byte> bytes, const FrameBody& body) {
    positions.resize(body.changed);
    std::size_t at = 0;
    std::uint64_t next = 0;
    for (std::uint32_t& position : positions) {
      std::uint64_t gap = 0;
      for (unsigned shift = 0;; shift += 7) {
        require(at < bytes.size() && shift < 7 * most_gap_bytes, "a frame's gap does not end");
        const auto byte = static_cast<std::uint64_t>(bytes[at++]);
        gap |= (byte & 0x7f) << shift;
        if (byte < 0x80) break;
      }
      require(gap < body.elements && next + gap < body.elements, "a change is beyond its frame");
      position = static_cast<std::uint32_t>(next + gap);
      next += gap + 1;
    }
    require(at == bytes.size(), "a frame has more gaps than changes");
  }

  void apply_sparse(const OpenFrame& frame, std::byte* image) {
    auto payload = frame.payload;
    const FrameBody& body = frame.body;
    read_positions(stream(payload, body.gap_wire_bytes, body.gap_raw_bytes, gaps), body);
    std::span<const std::byte> values[most_planes];
    for (std::size_t plane = 0; plane < width; ++plane) {
      values[plane] = stream(payload, body.plane_wire_bytes[plane], body.changed, planes[plane]);
    }
    width == 2 ? scatter<2>(values, image) : scatter<4>(values, image);
  }

  template <std::size_t Width>
  void scatter(const std::span<const std::byte> (&values)[most_planes], std::byte* image) const {
    for (std::size_t i = 0; i < positions.size(); ++i) {
      std::byte* to = image + positions[i] * Width;
      for (std::size_t plane = 0; plane < Width; ++plane) to[plane] = values[plane][i];
    }
  }

  std::size_t width;
  std::unique_ptr<ZSTD_DCtx, FreeContext> context{ZSTD_createDCtx()};
  std::vector<std::byte> gaps;
  std::vector<std::byte> planes[most_planes];
  std::vector<std::uint32_t> positions;
};

DeltaDecoder::DeltaDecoder(TransferType type) : impl_(std::make_unique<Impl>(type)) {}
DeltaDecoder::DeltaDecoder(DeltaDecoder&&) noexcept = default;
DeltaDecoder& DeltaDecoder::operator=(DeltaDecoder&&) noexcept = default;
DeltaDecoder::~DeltaDecoder() = default;

std::size_t DeltaDecoder::apply_one(std::span<const std::byte> frames, DeltaStep step,
                                    std::int64_t first_element, std::span<std::byte> image) {
  const OpenFrame frame = open_frame(frames);
  const FrameBody& body = frame.body;
  require(body.base == step.base.value() && body.target == step.target.value(),
          "a frame belongs to another step");
  require(body.element_bytes == impl_->width, "a frame is of another element type");
  check_lengths(frame, impl_->width);
  const auto elements = static_cast<std::int64_t>(image.size() / impl_->width);
  require(body.first >= first_element && body.first - first_element <= elements &&
              body.elements <= elements - (body.first - first_element),
          "a frame is beyond its range");
  std::byte* target =
      image.data() + static_cast<std::size_t>(body.first - first_element) * impl_->width;
  if (body.kind == FrameKind::dense) {
    std::memcpy(target, frame.payload.data(), frame.payload.size());
  } else {
    impl_->apply_sparse(frame, target);
  }
  return frame.bytes;
}

void DeltaDecoder::apply(std::span<const std::byte> frames, DeltaStep step,
                         std::int64_t first_element, std::span<std::byte> image) {
  while (!frames.empty()) {
    frames = frames.subspan(apply_one(frames, step, first_element, image));
  }
}

}  // namespace physarum::weights
