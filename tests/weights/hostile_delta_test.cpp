#include <cstring>
#include <functional>
#include <random>

#include <gtest/gtest.h>

#include "physarum/base/hash.hpp"

#include "physarum/weights/delta_codec.hpp"

#include "delta_frame.hpp"

namespace physarum::weights {
namespace {

using base::Bytes;
const DeltaStep hostile_step{base::WeightVersion(1), base::WeightVersion(2)};
constexpr std::size_t elements = 3000;
constexpr std::int64_t first = 77;

/// Guard bytes on both sides of the image tell a write outside.
class Guarded {
 public:
  Guarded() : memory_(2 * guard_bytes + elements * 2, std::byte{0x5a}) {}
  [[nodiscard]] std::span<std::byte> image() {
    return std::span(memory_).subspan(guard_bytes, elements * 2);
  }
  [[nodiscard]] bool untouched_outside() const {
    for (std::size_t i = 0; i < guard_bytes; ++i) {
      if (memory_[i] != std::byte{0x5a}) return false;
      if (memory_[memory_.size() - 1 - i] != std::byte{0x5a}) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t guard_bytes = 4096;
  Bytes memory_;
};

Bytes honest(double density) {
  Bytes before(elements * 2);
  Bytes after = before;
  std::mt19937 random(1);
  std::bernoulli_distribution hit(density);
  for (std::size_t i = 0; i < elements; ++i) {
    if (hit(random)) after[2 * i] = static_cast<std::byte>(1 + random() % 255);
  }
  Bytes frames;
  DeltaEncoder encoder(TransferType::bf16);
  EXPECT_TRUE(encoder.encode(before, after, first, hostile_step, 1 << 20, frames));
  return frames;
}

/// A frame by someone who knows the digest.
Bytes forged(Bytes frame, const std::function<void(FrameBody&, Bytes& payload)>& change) {
  FrameBody body;
  std::memcpy(&body, frame.data() + sizeof(FrameHead), sizeof body);
  Bytes payload(frame.begin() + sizeof(FrameHead) + sizeof(FrameBody), frame.end());
  change(body, payload);
  base::ByteWriter writer;
  writer.put(body);
  for (const std::byte byte : payload) writer.put(byte);
  const Bytes covered = writer.take();
  const base::Digest digest = base::digest128(covered);
  const FrameHead head{frame_magic, static_cast<std::uint32_t>(covered.size()), digest.low,
                       digest.high};
  base::ByteWriter frame_writer;
  frame_writer.put(head);
  for (const std::byte byte : covered) frame_writer.put(byte);
  return frame_writer.take();
}

void expect_refused(const Bytes& frames, const char* what) {
  Guarded guarded;
  const Bytes before(guarded.image().begin(), guarded.image().end());
  EXPECT_THROW(DeltaDecoder(TransferType::bf16).apply(frames, hostile_step, first, guarded.image()),
               CorruptDelta)
      << what;
  EXPECT_TRUE(guarded.untouched_outside()) << what;
  EXPECT_EQ(0, std::memcmp(before.data(), guarded.image().data(), before.size())) << what;
}

TEST(HostileDelta, honest_frames_are_accepted) {
  Guarded guarded;
  DeltaDecoder(TransferType::bf16).apply(honest(0.1), hostile_step, first, guarded.image());
  DeltaDecoder(TransferType::bf16).apply(honest(1), hostile_step, first, guarded.image());
  EXPECT_TRUE(guarded.untouched_outside());
}

TEST(HostileDelta, every_truncation_is_refused) {
  for (const double density : {0.05, 1.0}) {
    const Bytes frames = honest(density);
    for (std::size_t length = 1; length < frames.size(); length += length < 200 ? 1 : 61) {
      expect_refused(Bytes(frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(length)),
                     "truncated");
    }
    Bytes longer = frames;
    longer.push_back(std::byte{0});
    Guarded guarded;
    EXPECT_THROW(
        DeltaDecoder(TransferType::bf16).apply(longer, hostile_step, first, guarded.image()),
        CorruptDelta);
  }
}

TEST(HostileDelta, every_flipped_byte_is_refused) {
  const Bytes frames = honest(0.02);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    Bytes bad = frames;
    bad[i] ^= std::byte{0x11};
    expect_refused(bad, "flipped");
  }
}

TEST(HostileDelta, wrong_step_type_and_range_are_refused) {
  const Bytes frames = honest(0.1);
  Guarded guarded;
  DeltaDecoder decoder(TransferType::bf16);
  const DeltaStep other_base{base::WeightVersion(0), base::WeightVersion(2)};
  const DeltaStep other_target{base::WeightVersion(1), base::WeightVersion(3)};
  EXPECT_THROW(decoder.apply(frames, other_base, first, guarded.image()), CorruptDelta);
  EXPECT_THROW(decoder.apply(frames, other_target, first, guarded.image()), CorruptDelta);
  EXPECT_THROW(decoder.apply(frames, hostile_step, first + 1, guarded.image()), CorruptDelta);
  EXPECT_THROW(decoder.apply(frames, hostile_step, first - 1, guarded.image()), CorruptDelta);
  EXPECT_THROW(decoder.apply(frames, hostile_step, first, guarded.image().first(100)),
               CorruptDelta);
  EXPECT_THROW(DeltaDecoder(TransferType::f32).apply(frames, hostile_step, first, guarded.image()),
               CorruptDelta);
}

TEST(HostileDelta, forged_frames_are_refused) {
  const Bytes frames = honest(0.1);
  using Change = std::function<void(FrameBody&, Bytes&)>;
  const std::pair<const char*, Change> forgeries[] = {
      {"no elements", [](FrameBody& body, Bytes&) { body.elements = 0; }},
      {"too many elements", [](FrameBody& body, Bytes&) { body.elements = 0xffffffff; }},
      {"fewer elements than positions", [](FrameBody& body, Bytes&) { body.elements = 400; }},
      {"no changes", [](FrameBody& body, Bytes&) { body.changed = 0; }},
      {"one change less", [](FrameBody& body, Bytes&) { --body.changed; }},
      {"one change more", [](FrameBody& body, Bytes&) { ++body.changed; }},
      {"changes beyond elements", [](FrameBody& body, Bytes&) { body.changed = 5000; }},
      {"before the range", [](FrameBody& body, Bytes&) { body.first = first - 1; }},
      {"negative", [](FrameBody& body, Bytes&) { body.first = INT64_MIN; }},
      {"far away", [](FrameBody& body, Bytes&) { body.first = INT64_MAX; }},
      {"end beyond", [](FrameBody& body, Bytes&) { body.first = first + 1; }},
      {"kind", [](FrameBody& body, Bytes&) { body.kind = static_cast<FrameKind>(9); }},
      {"dense with gaps", [](FrameBody& body, Bytes&) { body.kind = FrameKind::dense; }},
      {"zero", [](FrameBody& body, Bytes&) { body.zero = 1; }},
      {"zero too", [](FrameBody& body, Bytes&) { body.zero_too = 1; }},
      {"gap length", [](FrameBody& body, Bytes&) { ++body.gap_raw_bytes; }},
      {"huge gap length", [](FrameBody& body, Bytes&) { body.gap_raw_bytes = 0xffffffff; }},
      {"gap wire", [](FrameBody& body, Bytes&) { ++body.gap_wire_bytes; }},
      {"moved border",
       [](FrameBody& body, Bytes&) {
         ++body.gap_wire_bytes;
         --body.plane_wire_bytes[0];
       }},
      {"third plane",
       [](FrameBody& body, Bytes& payload) {
         body.plane_wire_bytes[2] = 1;
         payload.push_back(std::byte{0});
       }},
      {"rubbish",
       [](FrameBody&, Bytes& payload) {
         std::fill(payload.begin(), payload.end(), std::byte{0xff});
       }},
      {"payload gone", [](FrameBody&, Bytes& payload) { payload.clear(); }},
  };
  for (const auto& [name, change] : forgeries) expect_refused(forged(frames, change), name);
}

TEST(HostileDelta, gaps_that_run_out_are_refused) {
  const auto with_gaps = [](std::vector<unsigned> gaps, std::uint32_t changed) {
    return forged(honest(0.1), [&](FrameBody& body, Bytes& payload) {
      payload.clear();
      for (const unsigned gap : gaps) payload.push_back(static_cast<std::byte>(gap));
      payload.resize(gaps.size() + 2 * std::size_t{changed}, std::byte{7});
      body.changed = changed;
      body.gap_raw_bytes = body.gap_wire_bytes = static_cast<std::uint32_t>(gaps.size());
      body.plane_wire_bytes[0] = body.plane_wire_bytes[1] = changed;
    });
  };
  Guarded guarded;
  DeltaDecoder(TransferType::bf16)
      .apply(with_gaps({0, 0xb6, 0x17}, 2), hostile_step, first, guarded.image());
  EXPECT_EQ(guarded.image()[2 * elements - 1], std::byte{7});  // 1 + 2998 = the last element
  expect_refused(with_gaps({0, 0xb7, 0x17}, 2), "one beyond the last element");
  expect_refused(with_gaps({0, 0x80}, 2), "gap without end");
  expect_refused(with_gaps({0x80, 0x80, 0x80, 0x80, 0x80, 0x01}, 2), "gap too long");
  expect_refused(with_gaps({0xff, 0xff, 0xff, 0xff, 0x7f}, 1), "gap too large");
  expect_refused(with_gaps({0, 0, 0}, 2), "gap left over");
}

TEST(HostileDelta, random_bytes_are_refused) {
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    Bytes bytes(1 + random() % 400);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    if (bytes.size() > 8 && round % 2 == 0) {
      const std::uint32_t start[2] = {frame_magic, static_cast<std::uint32_t>(random() % 400)};
      std::memcpy(bytes.data(), start, sizeof start);
    }
    expect_refused(bytes, "random");
  }
}

}  // namespace
}  // namespace physarum::weights
