#include "physarum/parallel/window.hpp"

#include <cstring>
#include <memory>
#include <numeric>

#include "physarum/base/contracts.hpp"

#include "physarum/parallel/wait.hpp"

#include "neighbours.hpp"
#include "pieces.hpp"
#include "support/mpi_test.hpp"

namespace physarum::parallel {
namespace {

using test::world;

/// 8-byte aligned memory.
struct Memory {
  explicit Memory(std::size_t bytes) : words((bytes + 7) / 8), size(bytes) {}
  std::vector<std::uint64_t> words;
  std::size_t size;
  [[nodiscard]] std::span<std::byte> span() {
    return std::as_writable_bytes(std::span(words)).first(size);
  }
};

Bytes pattern(std::size_t count, int seed) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<std::byte>((i * 13 + static_cast<std::size_t>(seed) * 101) & 0xff);
  }
  return bytes;
}

TEST(Window, put_reaches_every_rank) {
  const std::size_t part = 100'000;  // long transfers, and short ones beside them
  const auto ranks = static_cast<std::size_t>(world().size());
  Memory memory(part * ranks);
  Window window = Window::over(world(), memory.span(), "put");
  const auto at = part * static_cast<std::size_t>(world().rank());
  {
    Epoch epoch(window);
    const Bytes mine = pattern(part, world().rank());
    for (int target = 0; target < world().size(); ++target) {
      const std::span<const std::byte> bytes(mine);
      epoch.put(bytes.first(100), target, at);
      epoch.put(bytes.subspan(100), target, at + 100);
    }
    epoch.flush_all(test::soon());
    world().barrier();
    epoch.sync();
    for (std::size_t r = 0; r < ranks; ++r) {
      const Bytes expected = pattern(part, static_cast<int>(r));
      EXPECT_EQ(std::memcmp(memory.span().data() + r * part, expected.data(), part), 0);
    }
    world().barrier();
  }
  window.close();
}

TEST(Window, get_brings_bytes_in_pieces) {
  const ScopedReadsByMpi apart;
  const ScopedPieceLimit small(70'000);
  const std::size_t size = 1'000'003;
  Memory memory(size);
  const Bytes own = pattern(size, world().rank());
  std::copy(own.begin(), own.end(), memory.span().begin());
  Window window = Window::over(world(), memory.span(), "get");
  {
    Epoch epoch(window);
    epoch.sync();
    world().barrier();
    const int target = (world().rank() + 1) % world().size();
    Bytes got(size - 5);
    epoch.get(got, target, 5);
    epoch.flush(target, test::soon());
    const Bytes expected = pattern(size, target);
    EXPECT_TRUE(std::equal(got.begin(), got.end(), expected.begin() + 5));
    world().barrier();
  }
  window.close();
}

/// Long and short reads of every rank by every rank.
void read_far_and_near(const char* name) {
  const std::size_t size = 3'000'001;
  Memory memory(size);
  const Bytes own = pattern(size, world().rank());
  std::copy(own.begin(), own.end(), memory.span().begin());
  Window window = Window::over(world(), memory.span(), name);
  {
    Epoch epoch(window);
    epoch.sync();
    world().barrier();
    for (int target = 0; target < world().size(); ++target) {
      const Bytes expected = pattern(size, target);
      for (const std::size_t begin : {std::size_t{0}, std::size_t{4093}, size - 9}) {
        Bytes got(size - begin);
        epoch.get(got, target, begin);
        epoch.flush(target, test::soon());
        EXPECT_TRUE(std::equal(got.begin(), got.end(),
                               expected.begin() + std::ssize(expected) - std::ssize(got)));
      }
    }
    world().barrier();
  }
  window.close();
}

TEST(Window, reads_neighbours_and_through_mpi_the_same) {
  read_far_and_near("near");
  const ScopedReadsByMpi apart;
  read_far_and_near("apart");
}

TEST(Window, a_read_from_a_neighbour_serves_the_hooks) {
  Memory memory(4096);
  Window window = Window::over(world(), memory.span(), "hooks");
  const Neighbours near(world(), memory.span());
  {
    Epoch epoch(window);
    int served = 0;
    const ProgressHook hook([&] {
      ++served;
      return false;
    });
    world().barrier();
    served = 0;
    Bytes got(4096);
    const int target = (world().rank() + 1) % world().size();
    epoch.get(got, target, 0);
    epoch.flush(target, test::soon());
    if (near.have(target)) {
      EXPECT_GT(served, 0);
    }
    world().barrier();
  }
  window.close();
}

TEST(Window, counts_without_losing_one) {
  Memory memory(64);
  Window window = Window::over(world(), memory.span(), "count");
  {
    Epoch epoch(window);
    for (int i = 0; i < 100; ++i) epoch.fetch_add(0, 8, 1);
    world().barrier();
    EXPECT_EQ(epoch.load(0, 8), 100u * static_cast<unsigned>(world().size()));
    world().barrier();
  }
  window.close();
}

TEST(Window, only_one_rank_wins_a_swap) {
  Memory memory(64);
  Window window = Window::over(world(), memory.span(), "swap");
  {
    Epoch epoch(window);
    const auto me = static_cast<std::uint64_t>(world().rank()) + 1;
    const bool won = epoch.compare_and_swap(0, 0, 0, me) == 0;
    const auto winners = world().all_reduce_value<std::int64_t>(won ? 1 : 0, Op::sum);
    EXPECT_EQ(winners, 1);
    const auto seen = epoch.load(0, 0);
    if (won) {
      EXPECT_EQ(seen, me);
    }
    EXPECT_TRUE(
        world().agree(seen == static_cast<std::uint64_t>(world().all_reduce_value<std::int64_t>(
                                  static_cast<std::int64_t>(seen), Op::max))));
    world().barrier();
  }
  window.close();
}

/// The publish pattern: data, flush, then the version word. Readers poll the word.
void publish_and_read(const char* name) {
  const std::size_t size = 300'000;
  Memory memory(size + 8);
  Window window = Window::over(world(), memory.span(), name);
  {
    Epoch epoch(window);
    const int writer = world().size() - 1;
    for (std::uint64_t version = 1; version <= 5; ++version) {
      if (world().rank() == writer) {
        const Bytes data = pattern(size, static_cast<int>(version));
        epoch.put(data, 0, 8);
        epoch.flush(0, test::soon());
        epoch.store(0, 0, version);
      }
      EXPECT_TRUE(wait_until([&] { return epoch.load(0, 0) == version; }, test::soon()));
      Bytes got(size);
      epoch.get(got, 0, 8);
      epoch.flush(0, test::soon());
      EXPECT_EQ(got, pattern(size, static_cast<int>(version)));
      world().barrier();
    }
  }
  window.close();
}

TEST(Window, a_stored_word_follows_flushed_data) {
  publish_and_read("publish near");
  const ScopedReadsByMpi apart;
  publish_and_read("publish apart");
}

TEST(Window, exposes_the_same_memory_twice) {
  Memory memory(4096);
  Window one = Window::over(world(), memory.span(), "one");
  Window two = Window::over(world(), memory.span(), "two");
  {
    Epoch first(one);
    Epoch second(two);
    if (world().rank() == 0) {
      const Bytes data = pattern(2000, 4);
      first.put(data, world().size() - 1, 8);
      first.flush_all(test::soon());
      first.store(world().size() - 1, 0, 77);
    }
    world().barrier();
    Bytes got(2000);
    second.get(got, world().size() - 1, 8);
    second.flush_all(test::soon());
    EXPECT_EQ(got, pattern(2000, 4));
    EXPECT_EQ(second.load(world().size() - 1, 0), 77u);
    world().barrier();
  }
  two.close();
  one.close();
}

TEST(Window, ranks_may_expose_different_sizes_and_none) {
  Memory memory(world().rank() == 0 ? 1024 : 0);
  Window window = Window::over(world(), memory.span(), "uneven");
  EXPECT_EQ(window.bytes_of(0), 1024u);
  if (world().size() > 1) {
    EXPECT_EQ(window.bytes_of(1), 0u);
  }
  {
    Epoch epoch(window);
    Window moved = std::move(window);  // the epoch stays with the window, wherever it is
    epoch.fetch_add(0, 0, 1);
    if (world().size() > 1) {
      EXPECT_THROW((void)epoch.load(1, 0), base::ContractViolation);
    }
    EXPECT_THROW(moved.close(), base::ContractViolation);
    window = std::move(moved);
  }
  window.close();
}

TEST(Window, is_served_by_a_target_that_only_waits) {
  // Ranks above 0 read 32 MiB from rank 0, which sits in a barrier: its yielding wait must be
  // progress enough.
  const ScopedReadsByMpi apart;
  const std::size_t size = 32 << 20;
  Memory memory(world().rank() == 0 ? size : 0);
  Window window = Window::over(world(), memory.span(), "served");
  {
    Epoch epoch(window);
    double seconds = 0;
    if (world().rank() > 0) {
      Bytes got(size);
      const base::Stopwatch watch;
      epoch.get(got, 0, 0);
      epoch.flush(0, test::soon());
      seconds = watch.seconds();
    }
    world().barrier();
    const double slowest = world().all_reduce_value(seconds, Op::max);
    if (world().rank() == 0 && world().size() > 1) {
      std::printf("32 MiB get from a waiting rank by %d ranks: %.0f ms\n", world().size() - 1,
                  slowest * 1e3);
    }
  }
  window.close();
}

}  // namespace
}  // namespace physarum::parallel
