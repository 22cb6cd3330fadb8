#include "physarum/parallel/layout.hpp"

#include "support/mpi_test.hpp"

namespace physarum::parallel {
namespace {

using test::world;

TEST(Layout, separate_groups_have_their_communicators) {
  if (world().size() < 3) GTEST_SKIP() << "needs three ranks";
  Layout layout(world(), RankLayout::plan(world().size(), {}));
  const int rank = world().rank();
  EXPECT_EQ(layout.core().valid(), rank <= 1);
  EXPECT_EQ(layout.buffer().valid(), rank == 0);
  EXPECT_EQ(layout.trainer().valid(), rank == 1);
  EXPECT_EQ(layout.rollout().valid(), rank >= 2);
  EXPECT_EQ(layout.pull().valid(), rank != 1);
  if (layout.pull().valid()) {
    EXPECT_EQ(layout.pull().size(), world().size() - 1);
  }
  if (layout.core().valid()) {
    EXPECT_EQ(layout.core().rank(), rank);
  }
  if (layout.rollout().valid()) {
    EXPECT_EQ(layout.rollout().rank(), rank - 2);
  }
  EXPECT_EQ(layout.is_buffer(), rank == 0);
  layout.close();
}

TEST(Layout, colocated_groups_all_hold_every_rank) {
  Layout layout(world(), RankLayout::plan(world().size(), {.colocate = true}));
  for (Communicator* comm :
       {&layout.core(), &layout.trainer(), &layout.pull(), &layout.rollout()}) {
    EXPECT_EQ(comm->size(), world().size());
    EXPECT_EQ(comm->rank(), world().rank());
  }
  EXPECT_EQ(layout.buffer().valid(), world().rank() == 0);
  layout.close();
}

}  // namespace
}  // namespace physarum::parallel
