#include "frame_encoder.hpp"

#include <cstring>

#include "physarum/base/error.hpp"
#include "physarum/base/hash.hpp"
#include "physarum/base/narrow.hpp"

#include "physarum/weights/convert.hpp"

#include "bit_stream.hpp"

namespace physarum::weights {
namespace {

constexpr int zstd_level = 1;

void append(std::span<const std::byte> bytes, base::Bytes& out) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

void append_second_state(const FrameStates& states, std::size_t width, base::Bytes& out) {
  if (states.after != nullptr) return append({states.after, states.elements * width}, out);
  const std::size_t start = out.size();
  out.resize(start + states.elements * width);
  const auto type = width == 2 ? TransferType::bf16 : TransferType::f32;
  to_transfer({states.values, states.elements}, type, std::span(out).subspan(start));
}

/// The head, once the body and what follows it are known.
void seal(const FrameBody& body, std::size_t start, base::Bytes& out) {
  std::memcpy(out.data() + start + sizeof(FrameHead), &body, sizeof body);
  const auto covered = std::span(out).subspan(start + sizeof(FrameHead));
  const base::Digest digest = base::digest128(covered);
  const FrameHead head{frame_magic, base::narrow<std::uint32_t>(covered.size()), digest.low,
                       digest.high};
  std::memcpy(out.data() + start, &head, sizeof head);
}

}  // namespace

FrameEncoder::FrameEncoder(std::size_t width) : width_(width) {
  if (!context_) throw std::bad_alloc();
  for (std::size_t plane = 0; plane < width_; ++plane) changes_.planes[plane].resize(most_far);
}

/// Appends a stream, compressed if that is smaller; returns its length on the wire.
std::uint32_t FrameEncoder::append_stream(std::span<const std::byte> raw, base::Bytes& out) {
  const std::size_t start = out.size();
  out.resize(start + ZSTD_compressBound(raw.size()));
  const std::size_t length = ZSTD_compressCCtx(
      context_.get(), out.data() + start, out.size() - start, raw.data(), raw.size(), zstd_level);
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

/// The near changes; puts the far ones aside.
void FrameEncoder::append_near(FrameBody& body, base::Bytes& out) {
  const unsigned low = low_bits(body.near.count, body.elements);
  const unsigned residue_bits = body.residue_bits;
  BitWriter gaps(gap_memory_, most_gap_bits(body.near.count, low, body.elements));
  BitWriter residues(residue_memory_, body.near.count * residue_bits);
  const std::uint32_t mask = (1U << residue_bits) - 1;
  std::uint32_t next = 0;
  std::size_t far = 0;
  for (const Change& change : std::span(changes_.all).first(changes_.count)) {
    if (change.distance_bits >= residue_bits) {
      changes_.far_positions[far] = change.position;
      for (std::size_t plane = 0; plane < width_; ++plane) {
        changes_.planes[plane][far] = static_cast<std::byte>(change.value >> (8 * plane));
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

void FrameEncoder::append_far(FrameBody& body, base::Bytes& out) {
  if (body.far.count == 0) return;
  const unsigned low = low_bits(body.far.count, body.elements);
  BitWriter gaps(gap_memory_, most_gap_bits(body.far.count, low, body.elements));
  std::uint32_t next = 0;
  for (const std::uint32_t position : std::span(changes_.far_positions).first(body.far.count)) {
    gaps.put_rice(position - next, low);
    next = position + 1;
  }
  const auto bytes = gaps.finish();
  body.far.bytes = base::narrow<std::uint32_t>(bytes.size());
  append(bytes, out);
  for (std::size_t plane = 0; plane < width_; ++plane) {
    body.plane_wire_bytes[plane] =
        append_stream(std::span(changes_.planes[plane]).first(body.far.count), out);
  }
}

/// All changes, sparse, or dense if that is shorter.
void FrameEncoder::append_changes(const FrameStates& states, FrameBody& body, base::Bytes& out) {
  const FrameBody empty = body;
  const std::size_t dense_bytes = states.elements * width_;
  const std::size_t payload = out.size();
  body.kind = FrameKind::sparse;
  body.residue_bits = static_cast<std::uint8_t>(best_residue_bits(changes_, width_));
  for (std::size_t bits = 0; bits < body.residue_bits; ++bits) {
    body.near.count += static_cast<std::uint32_t>(changes_.with_distance_bits[bits]);
  }
  body.far.count = base::narrow<std::uint32_t>(changes_.count) - body.near.count;
  const bool few = body.far.count <= most_far;
  if (few) {
    append_near(body, out);
    append_far(body, out);
    if (out.size() - payload < dense_bytes) return;
  }
  out.resize(payload);
  body = empty;
  body.kind = FrameKind::dense;
  body.far.count = base::narrow<std::uint32_t>(changes_.count);
  append_second_state(states, width_, out);
}

std::size_t FrameEncoder::append_frame(const FrameStates& states, std::int64_t first,
                                       DeltaStep step, base::Bytes& out) {
  find_changes(states, width_, changes_);
  if (changes_.count == 0) return 0;
  FrameBody body{};
  body.base = step.base.value();
  body.target = step.target.value();
  body.first = first;
  body.elements = base::narrow<std::uint32_t>(states.elements);
  body.element_bytes = base::narrow<std::uint8_t>(width_);
  const std::size_t start = out.size();
  out.resize(start + sizeof(FrameHead) + sizeof(FrameBody));
  append_changes(states, body, out);
  seal(body, start, out);
  return changes_.count;
}

}  // namespace physarum::weights
