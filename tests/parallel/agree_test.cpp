#include "physarum/parallel/agree.hpp"

#include "support/mpi_test.hpp"

namespace physarum::parallel {
namespace {

using test::world;

template <class Error>
std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error of this kind";
}

TEST(Together, all_ranks_throw_the_user_s_error_of_one) {
  const int last = world().size() - 1;
  const auto text = message_of<base::UserError>([&] {
    together(world(), [&] {
      if (world().rank() == last) throw base::UserError("no such key", "run.toml:3", "remove it");
    });
  });
  EXPECT_EQ(text, "run.toml:3: no such key; remove it");
}

TEST(Together, all_ranks_throw_the_world_s_error_of_the_lowest_rank) {
  if (world().size() == 1) GTEST_SKIP() << "a rank alone throws its own error";
  const auto text = message_of<base::WorldError>([&] {
    together(world(), [&] {
      if (world().rank() >= world().size() / 2) throw std::runtime_error("disk is gone");
    });
  });
  EXPECT_NE(text.find("rank " + std::to_string(world().size() / 2)), text.npos) << text;
  EXPECT_NE(text.find("disk is gone"), text.npos) << text;
}

TEST(Together, the_user_s_error_goes_first) {
  const auto text = message_of<base::UserError>([&] {
    together(world(), [&] {
      if (world().rank() == world().size() - 1) throw base::UserError("theirs", "", "");
      throw std::runtime_error("ours");
    });
  });
  EXPECT_EQ(text, "theirs");
}

TEST(Together, does_nothing_when_all_is_well) {
  int runs = 0;
  together(world(), [&] { ++runs; });
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace physarum::parallel
