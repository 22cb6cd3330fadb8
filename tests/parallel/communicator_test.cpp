#include "physarum/parallel/communicator.hpp"

#include <numeric>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"

#include "physarum/parallel/mailbox.hpp"
#include "physarum/parallel/wait.hpp"

#include "pieces.hpp"
#include "support/mpi_test.hpp"

namespace physarum::parallel {
namespace {

using test::world;

/// `count` bytes that tell their rank and place.
Bytes marked_bytes(int rank, std::size_t count) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<std::byte>((static_cast<std::size_t>(rank) * 31 + i) & 0xff);
  }
  return bytes;
}

TEST(Communicator, split_orders_by_key_and_leaves_out_negative_colours) {
  const int rank = world().rank();
  const int size = world().size();
  Communicator turned = world().split(0, size - rank, "turned");
  EXPECT_EQ(turned.rank(), size - 1 - rank);
  EXPECT_EQ(turned.name(), "turned");
  Communicator odd = world().split(rank % 2 == 1 ? 0 : -1, rank, "odd");
  EXPECT_EQ(odd.valid(), rank % 2 == 1);
  if (odd.valid()) {
    EXPECT_EQ(odd.size(), size / 2);
    EXPECT_EQ(odd.all_reduce_value<std::int64_t>(1, Op::sum), size / 2);
  }
  odd.close();
  turned.close();
  EXPECT_FALSE(turned.valid());
}

TEST(Communicator, children_inherit_patience) {
  const double before = world().patience_s();
  Communicator child = world().duplicate("child");
  EXPECT_EQ(child.patience_s(), before);
  child.close();
}

TEST(Communicator, refuses_assignment_onto_a_live_one) {
  Communicator one = world().duplicate("one");
  Communicator two = world().duplicate("two");
  EXPECT_THROW(one = std::move(two), base::ContractViolation);
  two.close();
  one.close();
  one = world().duplicate("again");
  EXPECT_TRUE(one.valid());
  one.close();
}

TEST(Communicator, broadcasts_from_every_root_in_pieces) {
  const ScopedPieceLimit small(1000);
  for (int root = 0; root < world().size(); ++root) {
    for (const std::size_t count : {0u, 1u, 1000u, 2501u}) {
      Bytes bytes = world().rank() == root ? marked_bytes(root, count) : Bytes(3);
      world().broadcast_bytes(bytes, root);
      EXPECT_EQ(bytes, marked_bytes(root, count));
    }
  }
}

TEST(Communicator, broadcasts_text) {
  std::string text = world().rank() == 0 ? "slime mould" : "";
  world().broadcast_string(text, 0);
  EXPECT_EQ(text, "slime mould");
}

TEST(Communicator, gathers_different_lengths_by_rank) {
  const auto count_of = [](int rank) { return static_cast<std::size_t>(rank) * 700; };
  const Bytes mine = marked_bytes(world().rank(), count_of(world().rank()));
  for (const std::size_t limit : {std::size_t{1} << 30, std::size_t{512}}) {
    const ScopedPieceLimit small(limit);
    const auto all = world().all_gather_bytes(mine);
    ASSERT_EQ(all.size(), static_cast<std::size_t>(world().size()));
    for (int r = 0; r < world().size(); ++r) {
      EXPECT_EQ(all[static_cast<std::size_t>(r)], marked_bytes(r, count_of(r)));
    }
    const int root = world().size() - 1;
    const auto at_root = world().gather_bytes(mine, root);
    EXPECT_EQ(at_root, world().rank() == root ? all : std::vector<Bytes>());
  }
}

TEST(Communicator, gathers_values_and_vectors) {
  const int rank = world().rank();
  const auto ranks = world().all_gather(rank * 10);
  for (int r = 0; r < world().size(); ++r) EXPECT_EQ(ranks[static_cast<std::size_t>(r)], r * 10);
  const std::vector<double> mine(static_cast<std::size_t>(rank), 0.5);
  const auto all = world().all_gather_v(std::span<const double>(mine));
  for (std::size_t r = 0; r < all.size(); ++r) EXPECT_EQ(all[r], std::vector<double>(r, 0.5));
  EXPECT_EQ(world().gather_v(std::span<const double>(mine), 0).size(), rank == 0 ? all.size() : 0);
}

TEST(Communicator, agrees_only_if_all_do) {
  EXPECT_TRUE(world().agree(true));
  EXPECT_FALSE(world().agree(world().rank() != world().size() - 1));
}

TEST(Communicator, serves_hooks_while_it_waits) {
  // Rank 0 enters the barrier only when the others' hooks have written: they run inside it.
  Communicator side = world().duplicate("side");
  Mailbox mail(world());
  bool written = world().rank() == 0;
  const ProgressHook hook([&] {
    if (written) return false;
    EXPECT_EQ(mail.send(0, 1, {}), SendResult::sent);
    return written = true;
  });
  int heard_of = 1;
  const auto heard_of_all = [&] {
    while (mail.try_receive()) ++heard_of;
    return heard_of == world().size();
  };
  if (world().rank() == 0) {
    EXPECT_TRUE(wait_until(heard_of_all, test::soon())) << heard_of;
  }
  side.barrier();
  EXPECT_TRUE(written);
  EXPECT_TRUE(mail.flush(test::soon()));
  mail.close();
  side.close();
}

}  // namespace
}  // namespace physarum::parallel
