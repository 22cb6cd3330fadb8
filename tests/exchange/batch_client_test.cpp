#include "physarum/exchange/batch_client.hpp"

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"

#include "physarum/sample/micro_batches.hpp"

#include "physarum/exchange/loopback_transport.hpp"
#include "physarum/exchange/messages.hpp"

#include "sample/builders.hpp"

namespace physarum::exchange {
namespace {

namespace st = sample::testing;

/// Ranks 0 and 1 are buffers, rank 2 is the trainer with data-parallel rank 1 of 2.
class BatchClientTest : public ::testing::Test {
 protected:
  /// Two groups of four; group 0 is owned by rank 0, group 1 by rank 1.
  static sample::BatchPlan make_plan(std::int64_t step) {
    sample::BatchPlan plan;
    plan.step = step;
    for (std::int64_t id = 0; id < 8; ++id)
      plan.samples.push_back(
          summarise(st::make_sample(id, id / 4, id % 4), static_cast<int>(id / 4)));
    plan.micro_batches = plan_micro_batches(plan.samples, 2, 1, {});
    return plan;
  }
  /// The buffer's side: what was asked of `rank` is answered.
  void serve_fetch(int rank) {
    auto& buffer = network_.endpoint(rank);
    while (const auto envelope = buffer.try_receive(Party::server)) {
      if (envelope->kind != MessageKind::fetch_request) continue;
      const auto request = decode<FetchRequest>(envelope->bytes);
      FetchReply reply{request.step, {}};
      for (const auto& key : request.samples)
        reply.samples.push_back(
            st::make_sample(key.sample.value(), key.group.value(), key.sample.value() % 4));
      send(buffer, envelope->peer, reply);
    }
  }
  std::optional<Envelope> at_head() { return network_.endpoint(0).try_receive(Party::server); }

  LoopbackNetwork network_{3};
  BatchClient client_{network_.endpoint(2), {WorldRank(0), WorldRank(1)}, {0, 1}};
};

TEST_F(BatchClientTest, fetches_its_own_samples_from_their_owners) {
  client_.request(3);
  client_.request(3);
  EXPECT_EQ(decode<TakeRequest>(at_head()->bytes).step, 3);
  EXPECT_FALSE(at_head());
  EXPECT_FALSE(client_.try_take());
  send(network_.endpoint(0), WorldRank(2), TakeReply{make_plan(3)});
  EXPECT_FALSE(client_.try_take());
  serve_fetch(1);
  EXPECT_FALSE(client_.try_take());
  serve_fetch(0);
  const auto batch = client_.try_take();
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->plan, make_plan(3));
  EXPECT_EQ(batch->samples.size(), 4u);
  for (const auto index : indices_of_rank(batch->plan, 1))
    EXPECT_EQ(batch->sample(index), st::make_sample(index, index / 4, index % 4));
  EXPECT_EQ(at_head()->kind, MessageKind::fetched);
}

TEST_F(BatchClientTest, asks_for_one_batch_at_a_time) {
  client_.request(3);
  EXPECT_THROW(client_.request(4), base::ContractViolation);
}

TEST_F(BatchClientTest, an_errand_answers_instead_of_the_batch_or_comes_before_it) {
  auto& head = network_.endpoint(0);
  client_.request(3);
  send(head, WorldRank(2), ErrandOrder{3, Errand::save, ErrandForm::instead_of_batch});
  EXPECT_FALSE(client_.try_take());
  const auto errand = client_.take_errand();
  ASSERT_TRUE(errand);
  EXPECT_EQ(errand->errand, Errand::save);
  EXPECT_FALSE(client_.take_errand());
  client_.request(3);  // the question was answered: it may be asked again
  send(head, WorldRank(2), ErrandOrder{3, Errand::save_and_stop, ErrandForm::before_batch});
  send(head, WorldRank(2), TakeReply{make_plan(3)});
  EXPECT_FALSE(client_.try_take());
  serve_fetch(0);
  serve_fetch(1);
  EXPECT_TRUE(client_.try_take());
  EXPECT_EQ(client_.take_errand()->errand, Errand::save_and_stop);
  // One that nobody asked for.
  send(head, WorldRank(2), ErrandOrder{4, Errand::save, ErrandForm::instead_of_batch});
  EXPECT_FALSE(client_.try_take());
  EXPECT_FALSE(client_.take_errand());
  EXPECT_EQ(client_.malformed_messages(), 1);
}

TEST_F(BatchClientTest, a_snapshot_has_a_part_of_every_buffer_rank) {
  client_.request_snapshot(5);
  EXPECT_EQ(decode<SnapshotRequest>(at_head()->bytes).step, 5);
  send(network_.endpoint(1), WorldRank(2), Snapshot{5, Bytes(2)});
  EXPECT_FALSE(client_.try_snapshot());
  send(network_.endpoint(0), WorldRank(2), Snapshot{4, Bytes(7)});  // of another step
  send(network_.endpoint(0), WorldRank(2), Snapshot{5, Bytes(1)});
  const auto parts = client_.try_snapshot();
  ASSERT_TRUE(parts);
  EXPECT_EQ(*parts, (std::vector{Bytes(1), Bytes(2)}));
  EXPECT_EQ(client_.malformed_messages(), 1);
}

TEST_F(BatchClientTest, drops_answers_to_questions_that_it_did_not_ask) {
  send(network_.endpoint(0), WorldRank(2), TakeReply{make_plan(3)});
  network_.inject(1, 2, static_cast<int>(MessageKind::fetch_reply), Bytes(2));
  EXPECT_FALSE(client_.try_take());
  client_.request(1);
  send(network_.endpoint(0), WorldRank(2), TakeReply{make_plan(3)});
  EXPECT_FALSE(client_.try_take());
  EXPECT_EQ(client_.malformed_messages(), 3);
}

TEST_F(BatchClientTest, only_the_first_trainer_reports) {
  BatchClient second(network_.endpoint(2), {WorldRank(0), WorldRank(1)}, {1, 0});
  second.report_published(WeightVersion(1));
  second.report_step(1, {});
  EXPECT_FALSE(at_head());
  client_.report_published(WeightVersion(1));
  client_.report_step(1, {{"train/loss", 2.0}});
  EXPECT_EQ(decode<Published>(at_head()->bytes).version, WeightVersion(1));
  EXPECT_EQ(decode<StepReport>(at_head()->bytes).metrics.at("train/loss"), 2.0);
}

TEST_F(BatchClientTest, says_goodbye_to_every_buffer) {
  client_.finish();
  EXPECT_EQ(at_head()->kind, MessageKind::finish);
  EXPECT_EQ(at_head()->kind, MessageKind::goodbye);
  EXPECT_EQ(network_.endpoint(1).try_receive(Party::server)->kind, MessageKind::goodbye);
}

}  // namespace
}  // namespace physarum::exchange
