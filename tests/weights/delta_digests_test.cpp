// Digests that encoder and decoder of a delta bring from one state to the next.
#include <random>

#include <gtest/gtest.h>

#include "physarum/weights/delta_codec.hpp"

#include "block_digests.hpp"

namespace physarum::weights {
namespace {

using base::Bytes;
const DeltaStep digests_step{base::WeightVersion(1), base::WeightVersion(2)};
constexpr std::int64_t roomy = std::int64_t{1} << 40;

struct DigestCase {
  TransferType type;
  double density;  // from 1 on frames are dense
  int threads;
};

class DeltaDigests : public testing::TestWithParam<DigestCase> {
 protected:
  DeltaDigests() {
    const auto width = static_cast<std::size_t>(element_bytes(GetParam().type));
    before.resize((2 * static_cast<std::size_t>(DeltaEncoder::frame_elements) + 4097) * width);
    std::mt19937_64 random(3);
    for (std::byte& byte : before) byte = static_cast<std::byte>(random());
    after = before;
    std::bernoulli_distribution hit(GetParam().density);
    for (std::size_t i = 0; i < after.size(); i += width) {
      if (!hit(random)) continue;
      after[i + random() % width] ^= static_cast<std::byte>(1 + random() % 255);
    }
    make_block_digests(before, digests_before, team);
    make_block_digests(after, digests_after, team);
  }
  std::optional<std::int64_t> encode(std::span<base::Digest> digests) {
    frames.clear();
    return DeltaEncoder(GetParam().type, &team)
        .encode(before, after, 0, digests_step, roomy, frames, digests);
  }
  base::ThreadTeam team{GetParam().threads};
  Bytes before, after, frames;
  std::vector<base::Digest> digests_before, digests_after;
};

TEST_P(DeltaDigests, are_those_of_the_next_state_after_encoding) {
  auto digests = digests_before;
  ASSERT_TRUE(encode(digests));
  EXPECT_EQ(digests, digests_after);
  const Bytes noted = frames;
  ASSERT_TRUE(encode({}));
  EXPECT_EQ(frames, noted) << "who keeps digests sends the same";
}

TEST_P(DeltaDigests, are_those_of_the_next_state_after_applying_once_and_twice) {
  ASSERT_TRUE(encode({}));
  auto digests = digests_before;
  Bytes image = before;
  DeltaDecoder decoder(GetParam().type, &team);
  for (int again = 0; again < 2; ++again) {
    for (std::size_t done = 0; done < frames.size();) {
      done +=
          decoder.apply_some(std::span(frames).subspan(done), 64, digests_step, 0, image, digests)
              .bytes;
    }
    EXPECT_EQ(image, after);
    EXPECT_EQ(digests, digests_after);
  }
}

/// A bit that flipped in an element of the delta: what was read is not what the digests are of.
TEST_P(DeltaDigests, are_wrong_if_a_changed_element_was_not_what_they_say) {
  ASSERT_TRUE(encode({}));
  const auto [was, is] = std::mismatch(before.begin(), before.end(), after.begin());
  ASSERT_NE(was, before.end());
  Bytes image = before;
  image[static_cast<std::size_t>(was - before.begin())] ^= std::byte{0x40};
  auto digests = digests_before;
  DeltaDecoder decoder(GetParam().type, &team);
  for (std::size_t done = 0; done < frames.size();) {
    done += decoder.apply_some(std::span(frames).subspan(done), 64, digests_step, 0, image, digests)
                .bytes;
  }
  EXPECT_NE(digests.front(), digests_after.front());
}

INSTANTIATE_TEST_SUITE_P(Cases, DeltaDigests,
                         testing::Values(DigestCase{TransferType::bf16, 0.01, 1},
                                         DigestCase{TransferType::bf16, 0.01, 3},
                                         DigestCase{TransferType::bf16, 1.0, 2},
                                         DigestCase{TransferType::f32, 0.01, 1},
                                         DigestCase{TransferType::f32, 1.0, 1}));

}  // namespace
}  // namespace physarum::weights
