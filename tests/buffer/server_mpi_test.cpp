#include <algorithm>
#include <filesystem>

#include <unistd.h>

#include "physarum/parallel/wait.hpp"

#include "physarum/sample/sample_file.hpp"

#include "physarum/exchange/mpi_transport.hpp"

#include "buffer/circle.hpp"
#include "support/mpi_test.hpp"

namespace physarum::buffer {
namespace {

using test::world;
using testing::ranks;

/// Which world ranks play which role.
struct Roles {
  std::vector<base::WorldRank> buffers, trainers, engines;
  [[nodiscard]] static bool has(const std::vector<base::WorldRank>& role) {
    return std::ranges::find(role, base::WorldRank(world().rank())) != role.end();
  }
};

/// The same path on all ranks.
std::filesystem::path shared_directory() {
  std::string path;
  if (world().rank() == 0) {
    path =
        (std::filesystem::temp_directory_path() / ("physarum_buffer_" + std::to_string(::getpid())))
            .string();
  }
  world().broadcast_string(path, 0);
  return path;
}

/// One rank's part of a circle over MPI: all its roles in turns.
class RankInCircle {
 public:
  RankInCircle(Roles roles, testing::CircleOptions options)
      : options_(std::move(options)),
        transport_(world()),
        group_(world().split(Roles::has(roles.buffers) ? 0 : -1, 0, "buffer")),
        prompts_(testing::make_prompts(options_.prompts, "question")) {
    if (Roles::has(roles.buffers)) {
      server_ = std::make_unique<BufferServer>(transport_, group_, settings(roles));
    }
    ScriptedTrainers::Seats seats;
    if (Roles::has(roles.trainers)) seats.emplace_back(seat(roles.trainers), &transport_);
    trainers_ = std::make_unique<ScriptedTrainers>(options_, seats, roles.buffers);
    if (Roles::has(roles.engines)) {
      engine_ = std::make_unique<testing::ScriptedEngine>(
          transport_, roles.buffers, options_.engine_samples,
          static_cast<std::uint64_t>(world().rank()));
    }
  }

  void run() {
    const auto finished = [this] {
      ++turn_;
      if (server_) server_->advance();
      trainers_->turn(turn_);
      if (engine_) engine_->turn(turn_);
      return (!server_ || server_->finished()) && trainers_->finished() &&
             (!engine_ || engine_->finished());
    };
    ASSERT_TRUE(parallel::wait_until(finished, test::soon()))
        << (server_ ? server_->describe() : "");
    ASSERT_TRUE(transport_.flush(test::soon()));
    transport_.close();
    group_.close();
  }

  [[nodiscard]] const std::vector<std::vector<sample::Batch>>& batches() const {
    return trainers_->batches;
  }

 private:
  using ScriptedTrainers = testing::ScriptedTrainers;
  static int seat(const std::vector<base::WorldRank>& role) {
    return static_cast<int>(std::ranges::find(role, base::WorldRank(world().rank())) -
                            role.begin());
  }
  ServerSettings settings(const Roles& roles) {
    ServerSettings settings;
    settings.options = options_.buffer;
    settings.peers = {roles.buffers, roles.trainers, roles.engines,
                      static_cast<int>(roles.trainers.size())};
    settings.num_rollout = options_.num_rollout;
    settings.prompts = &prompts_;
    if (options_.archive) settings.archive = {*options_.archive, "test", "configuration"};
    return settings;
  }

  testing::CircleOptions options_;
  exchange::MpiTransport transport_;
  parallel::Communicator group_;
  sample::FilePromptSource prompts_;
  std::unique_ptr<BufferServer> server_;
  std::unique_ptr<ScriptedTrainers> trainers_;
  std::unique_ptr<testing::ScriptedEngine> engine_;
  std::int64_t turn_ = 0;
};

testing::CircleOptions options() {
  auto options = testing::small_circle();
  options.buffer.save_samples = true;
  return options;
}

/// The archive has what an in-process circle trains on.
void expect_archive(const std::filesystem::path& directory) {
  testing::Circle reference(options());
  ASSERT_TRUE(reference.run());
  for (std::int64_t step = 0; step < options().num_rollout; ++step) {
    const auto file = sample::read_samples(directory / ("samples_" + std::to_string(step) + ".h5"));
    EXPECT_EQ(testing::without_leases(file.samples),
              testing::without_leases(reference.batch(step)));
  }
}

void run_circle(Roles roles) {
  const auto directory = shared_directory();
  auto wanted = options();
  wanted.archive = directory;
  RankInCircle rank(std::move(roles), wanted);
  rank.run();
  world().barrier();
  if (world().rank() != 0) return;
  expect_archive(directory);
  std::filesystem::remove_all(directory);
}

TEST(ServerOverMpi, separate_roles_train_on_the_same_batches) {
  const int size = world().size();
  Roles roles;
  if (size == 1) roles = {ranks(0, 1), ranks(0, 1), ranks(0, 1)};
  if (size == 2) roles = {ranks(0, 1), ranks(0, 1), ranks(1, 1)};
  if (size == 3) roles = {ranks(0, 1), ranks(1, 1), ranks(2, 1)};
  if (size >= 4) roles = {ranks(0, 2), ranks(2, 1), ranks(3, size - 3)};
  run_circle(roles);
}

TEST(ServerOverMpi, colocated_ranks_with_several_buffers_write_and_train) {
  const int size = world().size();
  run_circle({ranks(0, (size + 1) / 2), ranks(0, size), ranks(0, size)});
}

}  // namespace
}  // namespace physarum::buffer
