#include "physarum/weights/delta_codec.hpp"

#include <cstring>
#include <random>

#include <gtest/gtest.h>

namespace physarum::weights {
namespace {

using base::Bytes;
constexpr std::int64_t no_limit = std::int64_t{1} << 40;
const DeltaStep step{base::WeightVersion(6), base::WeightVersion(7)};

Bytes random_bytes(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

/// Changes about `density` of the elements, each to any other bits.
Bytes changed(const Bytes& before, std::size_t width, double density, unsigned seed) {
  Bytes after = before;
  std::mt19937 random(seed);
  std::bernoulli_distribution hit(density);
  for (std::size_t i = 0; i < after.size(); i += width) {
    if (hit(random)) after[i + random() % width] ^= static_cast<std::byte>(1 + random() % 255);
  }
  return after;
}

/// Moves about `density` of the elements, taken as integers, by at most `most`.
template <class Element>
void move(Bytes& state, double density, int most, std::mt19937& random) {
  std::bernoulli_distribution hit(density);
  for (std::size_t i = 0; i < state.size(); i += sizeof(Element)) {
    if (!hit(random)) continue;
    Element value;
    std::memcpy(&value, &state[i], sizeof value);
    const int distance = 1 + static_cast<int>(random() % static_cast<unsigned>(most));
    value = static_cast<Element>(value + static_cast<Element>(random() % 2 ? distance : -distance));
    std::memcpy(&state[i], &value, sizeof value);
  }
}

class DeltaCodec : public testing::TestWithParam<TransferType> {
 protected:
  [[nodiscard]] static std::size_t width() {
    return static_cast<std::size_t>(element_bytes(GetParam()));
  }
};

TEST_P(DeltaCodec, leads_from_one_state_to_the_other_at_every_density) {
  DeltaEncoder encoder(GetParam());
  DeltaDecoder decoder(GetParam());
  // Beyond one frame, and no multiple of a cache line.
  for (const std::size_t elements : {std::size_t{1}, std::size_t{37}, std::size_t{1200011}}) {
    const Bytes before = random_bytes(elements * width(), 1);
    for (const double density : {0.0, 1e-4, 1e-2, 0.1, 0.32, 0.5, 1.0}) {
      const Bytes after = changed(before, width(), density, 2);
      Bytes frames;
      const auto count = encoder.encode(before, after, 1000, step, no_limit, frames);
      ASSERT_TRUE(count);
      std::int64_t differing = 0;
      for (std::size_t i = 0; i < elements * width(); i += width()) {
        differing += std::memcmp(&before[i], &after[i], width()) != 0 ? 1 : 0;
      }
      EXPECT_EQ(*count, differing);
      Bytes state = before;
      decoder.apply(frames, step, 1000, state);
      EXPECT_EQ(state, after) << elements << " elements, density " << density;
      EXPECT_LE(frames.size(), after.size() + 200 * (1 + elements / 500000));
    }
  }
}

TEST_P(DeltaCodec, sends_nothing_where_nothing_changed) {
  const Bytes state = random_bytes(1 << 20, 3);
  Bytes frames;
  EXPECT_EQ(DeltaEncoder(GetParam()).encode(state, state, 0, step, no_limit, frames), 0);
  EXPECT_TRUE(frames.empty());
}

TEST_P(DeltaCodec, is_small_where_little_changed) {
  const Bytes before = random_bytes(1 << 22, 4);
  const Bytes after = changed(before, width(), 0.01, 5);
  Bytes frames;
  ASSERT_TRUE(DeltaEncoder(GetParam()).encode(before, after, 0, step, no_limit, frames));
  EXPECT_LT(frames.size(), before.size() / 40);
}

TEST_P(DeltaCodec, may_be_applied_twice_and_over_a_part_of_itself) {
  const Bytes before = random_bytes(1 << 18, 6);
  const Bytes after = changed(before, width(), 0.05, 7);
  Bytes frames;
  ASSERT_TRUE(DeltaEncoder(GetParam()).encode(before, after, 0, step, no_limit, frames));
  Bytes half = before;
  std::copy_n(after.begin(), after.size() / 2, half.begin());
  DeltaDecoder decoder(GetParam());
  decoder.apply(frames, step, 0, half);
  EXPECT_EQ(half, after);
  decoder.apply(frames, step, 0, half);
  EXPECT_EQ(half, after);
}

TEST_P(DeltaCodec, is_smaller_the_nearer_the_changes) {
  const Bytes before = random_bytes(1 << 22, 21);
  std::size_t last = 0;
  for (const int most : {1, 3, 7, 100, 10000}) {
    std::mt19937 random(22);
    Bytes after = before;
    width() == 2 ? move<std::uint16_t>(after, 0.01, most, random)
                 : move<std::uint32_t>(after, 0.01, most, random);
    Bytes frames;
    ASSERT_TRUE(DeltaEncoder(GetParam()).encode(before, after, 0, step, no_limit, frames));
    EXPECT_GT(frames.size(), last) << most;
    last = frames.size();
    Bytes state = before;
    DeltaDecoder decoder(GetParam());
    decoder.apply(frames, step, 0, state);
    EXPECT_EQ(state, after) << most;
    decoder.apply(frames, step, 0, state);
    EXPECT_EQ(state, after) << most << ", applied twice";
    // The entropy of the positions is 8.1 bits a change, a residue 2 bits where all is near.
    if (most == 1) {
      EXPECT_LT(static_cast<double>(frames.size()) * 8,
                0.0102 * 10.3 * static_cast<double>((1U << 22) / width()));
    }
  }
}

TEST_P(DeltaCodec, leads_back_a_reader_that_is_ahead) {
  // A reader took a part of the image while the next deltas were folded into it. It has states of
  // later versions, and applies all deltas from the first one.
  std::mt19937 random(31);
  std::vector<Bytes> states{random_bytes(1 << 16, 30)};
  std::vector<Bytes> deltas;
  DeltaEncoder encoder(GetParam());
  for (int version = 0; version < 2; ++version) {
    states.push_back(states.back());
    width() == 2 ? move<std::uint16_t>(states.back(), 0.3, 1, random)
                 : move<std::uint32_t>(states.back(), 0.3, 1, random);
    deltas.emplace_back();
    ASSERT_TRUE(
        encoder.encode(states[states.size() - 2], states.back(), 0, step, no_limit, deltas.back()));
  }
  DeltaDecoder decoder(GetParam());
  for (const Bytes& ahead : states) {
    Bytes mixed = states[0];
    std::copy_n(ahead.begin(), ahead.size() / 2, mixed.begin());
    for (const Bytes& delta : deltas) decoder.apply(delta, step, 0, mixed);
    EXPECT_EQ(mixed, states.back());
  }
}

TEST_P(DeltaCodec, stops_at_its_capacity) {
  const Bytes before = random_bytes(1 << 20, 8);
  const Bytes after = changed(before, width(), 0.5, 9);
  Bytes frames;
  EXPECT_FALSE(DeltaEncoder(GetParam()).encode(before, after, 0, step, 1 << 18, frames));
}

TEST_P(DeltaCodec, applies_to_a_part_of_a_larger_range_by_global_positions) {
  const Bytes before = random_bytes(4096, 10);
  const Bytes after = changed(before, width(), 0.2, 11);
  Bytes frames;
  ASSERT_TRUE(DeltaEncoder(GetParam()).encode(before, after, 500, step, no_limit, frames));
  Bytes wide = random_bytes(8192 + 100 * width(), 12);
  const Bytes untouched = wide;
  std::copy(before.begin(), before.end(),
            wide.begin() + static_cast<std::ptrdiff_t>(100 * width()));
  DeltaDecoder(GetParam()).apply(frames, step, 400, wide);
  EXPECT_EQ(0, std::memcmp(wide.data() + 100 * width(), after.data(), after.size()));
  EXPECT_EQ(0, std::memcmp(wide.data(), untouched.data(), 100 * width()));
}

INSTANTIATE_TEST_SUITE_P(Types, DeltaCodec, testing::Values(TransferType::bf16, TransferType::f32));

TEST(DeltaCodecBits, sees_what_comparing_values_would_not) {
  // bf16: 0 and -0; two NaNs; the smallest denormal and 0.
  const std::uint16_t before[4] = {0x0000, 0x7fc0, 0x0000, 0x3f80};
  const std::uint16_t after[4] = {0x8000, 0x7fc1, 0x0001, 0x3f80};
  Bytes frames;
  DeltaEncoder encoder(TransferType::bf16);
  EXPECT_EQ(encoder.encode(std::as_bytes(std::span(before)), std::as_bytes(std::span(after)), 0,
                           step, no_limit, frames),
            3);
  std::uint16_t state[4] = {0x0000, 0x7fc0, 0x0000, 0x3f80};
  DeltaDecoder(TransferType::bf16).apply(frames, step, 0, std::as_writable_bytes(std::span(state)));
  EXPECT_EQ(0, std::memcmp(state, after, sizeof state));
}

}  // namespace
}  // namespace physarum::weights
