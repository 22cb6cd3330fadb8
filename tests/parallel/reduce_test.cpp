#include <cmath>
#include <cstring>
#include <random>

#include "physarum/base/deadline.hpp"

#include "pieces.hpp"
#include "support/mpi_test.hpp"

namespace physarum::parallel {
namespace {

using test::world;

std::vector<float> rank_values(int rank, std::size_t count) {
  std::mt19937 random(static_cast<unsigned>(rank + 1));
  std::normal_distribution<float> normal(0.0f, 1000.0f);
  std::vector<float> values(count);
  for (auto& value : values) value = normal(random);
  return values;
}

/// Rank 0's values plus rank 1's plus ...: what every all-reduce must give to the bit.
std::vector<float> sum_in_rank_order(std::size_t count) {
  std::vector<float> sum = rank_values(0, count);
  for (int rank = 1; rank < world().size(); ++rank) {
    const auto more = rank_values(rank, count);
    for (std::size_t i = 0; i < count; ++i) sum[i] += more[i];
  }
  return sum;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST(AllReduce, adds_in_rank_order_at_every_length) {
  for (const std::size_t count : {0u, 1u, 3u, 512u, 513u, 1000u, 100'003u}) {
    auto values = rank_values(world().rank(), count);
    world().all_reduce(std::span<float>(values), Op::sum);
    EXPECT_TRUE(same_bits(values, sum_in_rank_order(count))) << count;
  }
}

TEST(AllReduce, adds_the_same_in_segments) {
  const ScopedPieceLimit small(4096);
  auto values = rank_values(world().rank(), 5001);
  world().all_reduce(std::span<float>(values), Op::sum);
  EXPECT_TRUE(same_bits(values, sum_in_rank_order(5001)));
}

TEST(AllReduce, reduces_fewer_values_than_ranks_per_share) {
  const ScopedPieceLimit small(8);  // segments of two floats: some ranks have empty shares
  auto values = rank_values(world().rank(), 600);
  world().all_reduce(std::span<float>(values), Op::sum);
  EXPECT_TRUE(same_bits(values, sum_in_rank_order(600)));
}

TEST(AllReduce, finds_least_and_greatest_of_every_type) {
  const int rank = world().rank();
  const int last = world().size() - 1;
  EXPECT_EQ(world().all_reduce_value<std::int64_t>(rank - 5, Op::min), -5);
  EXPECT_EQ(world().all_reduce_value<std::int64_t>(rank, Op::max), last);
  EXPECT_EQ(world().all_reduce_value(static_cast<double>(rank) + 0.5, Op::max), last + 0.5);
  EXPECT_EQ(world().all_reduce_value(static_cast<float>(rank), Op::min), 0.0f);
  EXPECT_EQ(world().all_reduce_value(static_cast<std::uint8_t>(rank), Op::max), last);
  EXPECT_EQ(world().all_reduce_value<std::int64_t>(std::int64_t{1} << 40, Op::sum),
            (std::int64_t{1} << 40) * world().size());
}

TEST(AllReduce, gives_every_rank_the_same_not_a_number) {
  const float mine = world().rank() == world().size() - 1 ? std::nanf("") : 1.0f;
  EXPECT_TRUE(std::isnan(world().all_reduce_value(mine, Op::sum)));
}

TEST(AllReduce, reports_its_speed) {
  std::vector<float> values(4 << 20, 1.0f);
  world().all_reduce(std::span<float>(values), Op::sum);
  const base::Stopwatch watch;
  for (int i = 0; i < 3; ++i) world().all_reduce(std::span<float>(values), Op::max);
  if (world().rank() == 0) {
    std::printf("16 MiB all-reduce on %d ranks: %.1f ms\n", world().size(),
                watch.seconds() / 3 * 1e3);
  }
  EXPECT_EQ(values.front(), static_cast<float>(world().size()));
}

}  // namespace
}  // namespace physarum::parallel
