#include "store_layout.hpp"

#include <gtest/gtest.h>

#include "evolving_weights.hpp"

namespace physarum::weights {
namespace {

TEST(StoreLayout, regions_cover_the_image_once_and_stay_inside_the_window) {
  const auto catalogue = test::small_catalogue(TransferType::bf16);
  for (int buffers = 1; buffers <= 3; ++buffers) {
    for (int trainers = 1; trainers <= 12; ++trainers) {
      const StoreLayout layout(*catalogue, {}, buffers, trainers);
      std::int64_t covered = 0;
      for (int buffer = 0; buffer < buffers; ++buffer) {
        std::int64_t at = layout.shard(buffer).begin;
        for (const Region& region : layout.regions_of_buffer(buffer)) {
          EXPECT_EQ(region.bytes.begin, at);
          EXPECT_EQ(region.bytes.begin % StoreLayout::block_bytes, 0);
          at = region.bytes.end;
          EXPECT_LE(layout.frames_offset(region, 3) + static_cast<std::uint64_t>(region.capacity),
                    static_cast<std::uint64_t>(layout.window_bytes(buffer)));
        }
        EXPECT_EQ(at, layout.shard(buffer).end);
        covered += layout.shard(buffer).size();
      }
      EXPECT_EQ(covered, catalogue->total_bytes());
    }
  }
}

TEST(StoreLayout, trainers_and_buffers_see_the_same_regions) {
  const auto catalogue = test::small_catalogue(TransferType::f32);
  const StoreLayout layout(*catalogue, {}, 2, 3);
  std::size_t count = 0;
  for (int trainer = 0; trainer < 3; ++trainer) {
    std::int64_t bytes = 0;
    for (const Region& region : layout.regions_of_trainer(trainer)) bytes += region.bytes.size();
    EXPECT_EQ(bytes, layout.share(trainer).size());
    count += layout.regions_of_trainer(trainer).size();
  }
  EXPECT_EQ(count, layout.regions_of_buffer(0).size() + layout.regions_of_buffer(1).size());
}

TEST(StoreLayout, hash_tells_what_ranks_must_agree_on) {
  const auto catalogue = test::small_catalogue(TransferType::f32);
  WeightOptions options;
  const auto hash = StoreLayout(*catalogue, options, 1, 2).hash();
  EXPECT_EQ(StoreLayout(*catalogue, options, 1, 2).hash(), hash);
  EXPECT_NE(StoreLayout(*catalogue, options, 2, 2).hash(), hash);
  EXPECT_NE(StoreLayout(*catalogue, options, 1, 3).hash(), hash);
  options.delta_ring = 5;
  EXPECT_NE(StoreLayout(*catalogue, options, 1, 2).hash(), hash);
  options.mode = UpdateMode::full;
  EXPECT_NE(StoreLayout(*catalogue, options, 1, 2).hash(), hash);
}

TEST(StoreLayout, full_mode_has_no_ring) {
  const auto catalogue = test::small_catalogue(TransferType::f32);
  WeightOptions options;
  const StoreLayout delta(*catalogue, options, 1, 1);
  options.mode = UpdateMode::full;
  const StoreLayout full(*catalogue, options, 1, 1);
  EXPECT_EQ(full.ring(), 0);
  EXPECT_LT(full.window_bytes(0), delta.window_bytes(0));
  EXPECT_LT(full.window_bytes(0), catalogue->total_bytes() * 9 / 4);
}

}  // namespace
}  // namespace physarum::weights
