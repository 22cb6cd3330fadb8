#include <random>

#include <gtest/gtest.h>

#include "physarum/weights/delta_codec.hpp"

#include "block_digests.hpp"

namespace physarum::weights {
namespace {

using base::Bytes;
const DeltaStep threads_step{base::WeightVersion(3), base::WeightVersion(4)};

/// Two states of several frames, the last one short; one frame has no changes, one nothing but.
struct States {
  explicit States(TransferType type) {
    const auto width = static_cast<std::size_t>(element_bytes(type));
    const auto frame = static_cast<std::size_t>(DeltaEncoder::frame_elements) * width;
    before.resize(5 * frame + 1000 * width);
    std::mt19937_64 random(41);
    for (std::byte& byte : before) byte = static_cast<std::byte>(random());
    after = before;
    for (std::size_t i = 0; i < after.size(); i += width) {
      const std::size_t in = i / frame;
      if (in == 1 || (in != 3 && random() % 50 != 0)) continue;
      after[i] ^= std::byte{1};
    }
  }
  Bytes before;
  Bytes after;
};

class DeltaThreads : public testing::TestWithParam<int> {
 protected:
  base::ThreadTeam team{GetParam()};
};

TEST_P(DeltaThreads, write_the_same_frames_as_one) {
  for (const TransferType type : {TransferType::bf16, TransferType::f32}) {
    const States states(type);
    Bytes expected{std::byte{9}}, frames{std::byte{9}};
    DeltaEncoder together(type, &team);
    const auto count =
        DeltaEncoder(type).encode(states.before, states.after, 70, threads_step, 1 << 30, expected);
    for (int again = 0; again < 2; ++again) {
      frames.resize(1);
      EXPECT_EQ(together.encode(states.before, states.after, 70, threads_step, 1 << 30, frames),
                count);
      EXPECT_EQ(frames, expected);
    }
    Bytes state = states.before;
    DeltaDecoder(type, &team).apply(std::span(frames).subspan(1), threads_step, 70, state);
    EXPECT_EQ(state, states.after);
  }
}

TEST_P(DeltaThreads, stop_at_the_same_capacity_as_one) {
  const States states(TransferType::bf16);
  Bytes all;
  DeltaEncoder encoder(TransferType::bf16, &team);
  ASSERT_TRUE(encoder.encode(states.before, states.after, 0, threads_step, 1 << 30, all));
  const auto size = static_cast<std::int64_t>(all.size());
  Bytes frames;
  EXPECT_TRUE(encoder.encode(states.before, states.after, 0, threads_step, size, frames));
  EXPECT_EQ(frames, all);
  for (const std::int64_t less : {size - 1, size / 2, std::int64_t{1}}) {
    frames.clear();
    EXPECT_FALSE(encoder.encode(states.before, states.after, 0, threads_step, less, frames));
    EXPECT_LE(frames.size(), all.size());
  }
}

TEST_P(DeltaThreads, refuse_a_frame_that_is_damaged) {
  const States states(TransferType::bf16);
  Bytes frames;
  ASSERT_TRUE(DeltaEncoder(TransferType::bf16)
                  .encode(states.before, states.after, 0, threads_step, 1 << 30, frames));
  DeltaDecoder decoder(TransferType::bf16, &team);
  for (const std::size_t place : {std::size_t{2}, frames.size() / 2, frames.size() - 1}) {
    frames[place] ^= std::byte{4};
    Bytes state = states.before;
    EXPECT_THROW(decoder.apply(frames, threads_step, 0, state), CorruptDelta) << place;
    frames[place] ^= std::byte{4};
  }
  Bytes state = states.before;
  EXPECT_THROW(decoder.apply(std::span(frames).first(frames.size() - 1), threads_step, 0, state),
               CorruptDelta);
  decoder.apply(frames, threads_step, 0, state);
  EXPECT_EQ(state, states.after);
}

TEST_P(DeltaThreads, apply_frames_of_one_place_after_one_another) {
  const States states(TransferType::bf16);
  Bytes frames;
  ASSERT_TRUE(DeltaEncoder(TransferType::bf16)
                  .encode(states.before, states.after, 0, threads_step, 1 << 30, frames));
  Bytes twice = frames;
  twice.insert(twice.end(), frames.begin(), frames.end());
  Bytes state = states.before;
  DeltaDecoder decoder(TransferType::bf16, &team);
  const auto first = decoder.apply_some(twice, 64, threads_step, 0, state);
  EXPECT_LE(first.bytes, frames.size());
  decoder.apply(std::span(twice).subspan(first.bytes), threads_step, 0, state);
  EXPECT_EQ(state, states.after);
}

TEST_P(DeltaThreads, make_the_same_digests_and_find_the_first_wrong_block) {
  const States states(TransferType::bf16);
  base::ThreadTeam alone(1);
  std::vector<base::Digest> expected, digests;
  make_block_digests(states.before, expected, alone);
  make_block_digests(states.before, digests, team);
  EXPECT_EQ(digests, expected);
  EXPECT_EQ(first_wrong_block(states.before, digests, team), -1);
  digests[70] = digests[40] = digests[55] = {};
  EXPECT_EQ(first_wrong_block(states.before, digests, team), 40);
}

INSTANTIATE_TEST_SUITE_P(Counts, DeltaThreads, testing::Values(1, 2, 3, 8));

}  // namespace
}  // namespace physarum::weights
