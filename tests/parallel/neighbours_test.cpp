#include "neighbours.hpp"

#include <gtest/gtest.h>

#include "physarum/base/bytes.hpp"
#include "physarum/base/error.hpp"

#include "physarum/parallel/window.hpp"

#include "support/mpi_test.hpp"

namespace physarum::parallel {
namespace {

using test::world;

base::Bytes bytes_of_rank(int rank) { return base::Bytes(1 << 20, static_cast<std::byte>(rank)); }

TEST(Neighbours, their_memory_is_read_while_they_wait) {
  base::Bytes memory = bytes_of_rank(world().rank());
  const Neighbours neighbours(world(), memory);
  for (int target = 0; target < world().size(); ++target) {
    if (!neighbours.have(target)) continue;
    base::Bytes got(memory.size() - 7);
    neighbours.read(got, target, 7);
    EXPECT_EQ(got.front(), static_cast<std::byte>(target));
    EXPECT_EQ(got.back(), static_cast<std::byte>(target));
  }
  world().barrier();
}

TEST(Neighbours, a_rank_is_none_of_its_own) {
  base::Bytes memory = bytes_of_rank(0);
  const Neighbours neighbours(world(), memory);
  EXPECT_FALSE(neighbours.have(world().rank()));
  EXPECT_FALSE(neighbours.have(world().size()));
  world().barrier();
}

TEST(Neighbours, what_a_process_does_not_have_is_an_error_that_names_the_rank) {
  const Neighbours neighbours(world(), {});
  const int target = (world().rank() + 1) % world().size();
  if (neighbours.have(target)) {
    base::Bytes got(16);
    try {
      neighbours.read(got, target, 64);
      ADD_FAILURE() << "nothing lies there";
    } catch (const base::WorldError& error) {
      EXPECT_NE(std::string(error.what()).find("rank " + std::to_string(target)),
                std::string::npos);
    }
  }
  world().barrier();
}

TEST(Neighbours, there_are_none_where_reads_go_by_mpi) {
  base::Bytes memory = bytes_of_rank(0);
  const ScopedReadsByMpi apart;
  const Neighbours neighbours(world(), memory);
  for (int target = 0; target < world().size(); ++target) EXPECT_FALSE(neighbours.have(target));
  world().barrier();
}

}  // namespace
}  // namespace physarum::parallel
