#include <gtest/gtest.h>

#include "rollout/worker_fixture.hpp"

namespace physarum::rollout {
namespace {

TEST_F(Worker, waits_for_the_version_of_a_lease) {
  publish(0);
  head_.lend(lease_of(0, 2, 1));
  turns(50);
  EXPECT_TRUE(head_.groups().empty());
  publish(1);
  run_to(1);
  EXPECT_EQ(sample_of(0).oldest_version(), base::WeightVersion(1));
}

TEST_F(Worker, goes_on_with_new_weights_where_leases_allow_it) {
  publish(0);
  auto lease = lease_of(0, 2, 0);
  lease.sampling.stop_token_ids.clear();
  head_.lend(lease);
  turns(12);
  ASSERT_TRUE(head_.groups().empty());
  publish(1);
  run_to(1);
  EXPECT_EQ(sample_of(0).versions.size(), 2U);
  EXPECT_EQ(sample_of(0).oldest_version(), base::WeightVersion(0));
  EXPECT_EQ(sample_of(0).newest_version(), base::WeightVersion(1));
  EXPECT_EQ(worker().statistics().at("rollout/weight_swaps"), 2);
}

TEST_F(Worker, abort_starts_answers_again_with_new_weights) {
  options_.pause_generation_mode = PauseGenerationMode::abort;
  publish(0);
  auto lease = lease_of(0, 3, 0);
  lease.sampling.stop_token_ids.clear();
  head_.lend(lease);
  turns(12);
  publish(1);
  run_to(1);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(sample_of(0, i).oldest_version(), base::WeightVersion(1));
    EXPECT_EQ(sample_of(0, i).response_tokens(), 20);
  }
}

TEST_F(Worker, keeps_weights_while_a_lease_wants_exactly_these) {
  publish(0);
  auto lease = lease_of(0, 2, 0);
  lease.rule = sample::VersionRule::exactly;
  lease.sampling.stop_token_ids.clear();
  head_.lend(lease);
  turns(12);
  publish(1);
  auto next = lease_of(1, 2, 1);
  next.rule = sample::VersionRule::exactly;
  head_.lend(next);
  run_to(2);
  EXPECT_EQ(sample_of(0).newest_version(), base::WeightVersion(0));
  EXPECT_EQ(sample_of(1).oldest_version(), base::WeightVersion(1));
}

TEST_F(Worker, gives_a_lease_back_whose_weights_are_gone) {
  for (std::int64_t version = 0; version < 9; ++version) publish(version);
  auto lease = lease_of(0, 2, 0);
  lease.rule = sample::VersionRule::exactly;
  head_.lend(lease);
  run_to(1);
  EXPECT_TRUE(head_.groups().at(0).has_aborted());
}

TEST_F(Worker, gives_a_lease_back_that_wants_older_weights_than_it_has) {
  publish(0);
  publish(1);
  head_.lend(lease_of(0, 2, 1));
  run_to(1);
  auto lease = lease_of(1, 2, 0);
  lease.rule = sample::VersionRule::exactly;
  head_.lend(lease);
  run_to(2);
  EXPECT_TRUE(head_.groups().at(1).has_aborted());
}

}  // namespace
}  // namespace physarum::rollout
