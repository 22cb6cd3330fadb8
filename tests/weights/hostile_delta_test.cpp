#include <cstring>
#include <functional>
#include <random>

#include <gtest/gtest.h>

#include "physarum/base/hash.hpp"

#include "physarum/weights/delta_codec.hpp"

#include "bit_stream.hpp"
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
    // Near and far changes.
    if (hit(random)) after[2 * i] = static_cast<std::byte>(1 + random() % (i % 2 == 0 ? 1 : 255));
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
      {"no changes", [](FrameBody& body, Bytes&) { body.near.count = body.far.count = 0; }},
      {"one near change less", [](FrameBody& body, Bytes&) { --body.near.count; }},
      {"one near change more", [](FrameBody& body, Bytes&) { ++body.near.count; }},
      {"one far change less", [](FrameBody& body, Bytes&) { --body.far.count; }},
      {"one far change more", [](FrameBody& body, Bytes&) { ++body.far.count; }},
      {"near is far",
       [](FrameBody& body, Bytes&) {
         --body.near.count;
         ++body.far.count;
       }},
      {"changes beyond elements", [](FrameBody& body, Bytes&) { body.far.count = 5000; }},
      {"counts that wrap", [](FrameBody& body, Bytes&) { body.near.count = 0xffffffff; }},
      {"before the range", [](FrameBody& body, Bytes&) { body.first = first - 1; }},
      {"negative", [](FrameBody& body, Bytes&) { body.first = INT64_MIN; }},
      {"far away", [](FrameBody& body, Bytes&) { body.first = INT64_MAX; }},
      {"end beyond", [](FrameBody& body, Bytes&) { body.first = first + 1; }},
      {"kind", [](FrameBody& body, Bytes&) { body.kind = static_cast<FrameKind>(9); }},
      {"dense with gaps", [](FrameBody& body, Bytes&) { body.kind = FrameKind::dense; }},
      {"zero", [](FrameBody& body, Bytes&) { body.zero = 1; }},
      {"no residues", [](FrameBody& body, Bytes&) { body.residue_bits = 0; }},
      {"one bit of residue", [](FrameBody& body, Bytes&) { body.residue_bits = 1; }},
      {"residues too long", [](FrameBody& body, Bytes&) { body.residue_bits = 17; }},
      {"near gaps' length", [](FrameBody& body, Bytes&) { ++body.near.bytes; }},
      {"huge length of gaps", [](FrameBody& body, Bytes&) { body.near.bytes = 0xffffffff; }},
      {"far gaps' length", [](FrameBody& body, Bytes&) { ++body.far.bytes; }},
      {"moved border",
       [](FrameBody& body, Bytes&) {
         ++body.near.bytes;
         --body.far.bytes;
       }},
      {"moved border of the planes",
       [](FrameBody& body, Bytes&) {
         ++body.far.bytes;
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
  // Two far changes; the last element is at gap elements - 2 after element 0.
  const auto with_gaps = [](const std::vector<std::uint32_t>& gaps, std::size_t kept,
                            std::size_t added) {
    return forged(honest(0.1), [&](FrameBody& body, Bytes& payload) {
      Bytes memory;
      BitWriter bits(memory, 8 * elements);
      for (const std::uint32_t gap : gaps) bits.put_rice(gap, low_bits(2, elements));
      const auto written = bits.finish();
      payload.assign(written.begin(), written.end());
      payload.resize(std::min(payload.size(), kept) + added);
      body.near = {0, 0};
      body.far = {2, static_cast<std::uint32_t>(payload.size())};
      body.plane_wire_bytes[0] = body.plane_wire_bytes[1] = 2;
      payload.resize(payload.size() + 4, std::byte{7});
    });
  };
  constexpr std::size_t all = 1000;
  Guarded guarded;
  DeltaDecoder(TransferType::bf16)
      .apply(with_gaps({0, elements - 2}, all, 0), hostile_step, first, guarded.image());
  EXPECT_EQ(guarded.image()[2 * elements - 1], std::byte{7});
  expect_refused(with_gaps({0, elements - 1}, all, 0), "one beyond the last element");
  expect_refused(with_gaps({0, 1U << 18}, all, 0), "gap too long");
  expect_refused(with_gaps({0, elements - 2}, 2, 0), "gap without end");
  expect_refused(with_gaps({0, elements - 2}, 0, 60), "zeros without end");
  expect_refused(with_gaps({0, 0, 0}, all, 0), "gap left over");
  expect_refused(with_gaps({0, elements - 2}, all, 1), "byte left over");
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
