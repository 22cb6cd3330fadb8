#include "physarum/exchange/work_client.hpp"

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"

#include "physarum/exchange/loopback_transport.hpp"
#include "physarum/exchange/messages.hpp"

#include "sample/builders.hpp"

namespace physarum::exchange {
namespace {

namespace st = sample::testing;

/// Rank 0 is the head, rank 1 another buffer, rank 2 the engine.
class WorkClientTest : public ::testing::Test {
 protected:
  std::optional<WorkRequest> next_request() {
    const auto envelope = head_.try_receive(Party::server);
    if (!envelope || envelope->kind != MessageKind::work_request) return {};
    return decode<WorkRequest>(envelope->bytes);
  }
  void reply(const WorkReply& message) { send(head_, WorldRank(2), message); }

  LoopbackNetwork network_{3};
  Transport& head_ = network_.endpoint(0);
  WorkClient client_{network_.endpoint(2), {WorldRank(0), WorldRank(1)}};
};

TEST_F(WorkClientTest, asks_once_and_again_when_there_is_more_room) {
  EXPECT_FALSE(client_.poll(4, WeightVersion(1)));
  client_.poll(4, WeightVersion(1));
  client_.poll(3, WeightVersion(1));
  const auto first = next_request();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->free_samples, 4);
  EXPECT_EQ(first->current, WeightVersion(1));
  EXPECT_FALSE(first->known.valid());
  EXPECT_FALSE(next_request());
  client_.poll(6, WeightVersion(1));
  EXPECT_EQ(next_request()->free_samples, 6);
}

TEST_F(WorkClientTest, sends_what_the_engine_has_counted_with_each_question) {
  client_.poll(4, WeightVersion(1), {.preemptions = 3, .narrowed_nuclei = 20});
  EXPECT_EQ(next_request()->counters, (EngineCounters{.preemptions = 3, .narrowed_nuclei = 20}));
  client_.poll(5, WeightVersion(1), {.preemptions = 4, .narrowed_nuclei = 20});
  EXPECT_EQ(next_request()->counters, (EngineCounters{.preemptions = 4, .narrowed_nuclei = 20}));
}

TEST_F(WorkClientTest, hands_leases_on_and_groups_in_to_their_owner) {
  client_.poll(4, WeightVersion());
  (void)next_request();
  const auto lease = st::make_lease();  // owner is rank 1
  reply({{lease}, WeightVersion(7), RunState::going});
  EXPECT_TRUE(client_.poll(0, WeightVersion()));
  EXPECT_EQ(client_.newest_version(), WeightVersion(7));
  ASSERT_EQ(client_.take_leases(), std::vector{lease});
  EXPECT_TRUE(client_.take_leases().empty());
  EXPECT_EQ(client_.leases_in_flight(), 1);
  const auto group = st::answer(lease, 2);
  client_.hand_in(group);
  EXPECT_EQ(client_.leases_in_flight(), 0);
  const auto delivery = network_.endpoint(1).try_receive(Party::server);
  ASSERT_TRUE(delivery);
  EXPECT_EQ(decode<Delivery>(delivery->bytes).group, group);
  EXPECT_EQ(next_request()->replies_seen, 1);
}

TEST_F(WorkClientTest, refuses_groups_that_answer_no_lease) {
  client_.poll(4, WeightVersion());
  reply({{st::make_lease()}, WeightVersion(0), RunState::going});
  client_.poll(0, WeightVersion());
  auto group = st::answer(st::make_lease(), 2);
  EXPECT_THROW(client_.hand_in(st::answer(st::make_lease(99), 2)), base::ContractViolation);
  group.samples.pop_back();
  EXPECT_THROW(client_.hand_in(group), base::ContractViolation);
  group = st::answer(st::make_lease(), 2);
  group.samples[0].mask.clear();
  EXPECT_THROW(client_.hand_in(group), base::ContractViolation);
  client_.hand_in(st::answer(st::make_lease(), 2));
  EXPECT_THROW(client_.hand_in(st::answer(st::make_lease(), 2)), base::ContractViolation);
}

TEST_F(WorkClientTest, hands_recalled_groups_back_to_the_head) {
  client_.poll(4, WeightVersion());
  const auto lease = st::begun_lease();
  reply({{lease}, WeightVersion(7), RunState::going, {{lease.id, RecallForm::hand_back}}});
  client_.poll(0, WeightVersion());
  ASSERT_EQ(client_.take_leases(), std::vector{lease});
  EXPECT_EQ(client_.take_recalls(), (std::vector{Recall{lease.id, RecallForm::hand_back}}));
  EXPECT_TRUE(client_.take_recalls().empty());
  auto group = st::answer(lease, 2);
  EXPECT_THROW(client_.hand_back(group), base::ContractViolation) << "it is finished";
  group.samples[1].status = sample::SampleStatus::aborted;
  client_.hand_back(group);
  EXPECT_EQ(client_.leases_in_flight(), 0);
  EXPECT_TRUE(next_request());
  auto envelope = head_.try_receive(Party::server);
  if (envelope && envelope->kind == MessageKind::work_request)
    envelope = head_.try_receive(Party::server);
  ASSERT_TRUE(envelope);
  ASSERT_EQ(envelope->kind, MessageKind::hand_back);
  EXPECT_EQ(decode<HandBack>(envelope->bytes).group, group);
  EXPECT_THROW(client_.hand_back(group), base::ContractViolation) << "twice";
}

TEST_F(WorkClientTest, a_dropped_lease_is_forgotten) {
  client_.poll(4, WeightVersion());
  const auto taken = st::make_lease(1), waiting = st::make_lease(2);
  reply({{taken}, WeightVersion(7), RunState::going});
  client_.poll(0, WeightVersion());
  (void)client_.take_leases();
  reply({{waiting}, WeightVersion(7), RunState::going});
  reply({{},
         WeightVersion(7),
         RunState::going,
         {{taken.id, RecallForm::drop},
          {waiting.id, RecallForm::drop},
          {base::LeaseId(77), RecallForm::drop}}});
  client_.poll(0, WeightVersion());
  EXPECT_TRUE(client_.take_leases().empty()) << "it was dropped before it was taken";
  EXPECT_EQ(client_.take_recalls(), (std::vector{Recall{taken.id, RecallForm::drop}}));
  EXPECT_EQ(client_.leases_in_flight(), 0);
}

TEST_F(WorkClientTest, a_recall_that_crossed_the_group_means_nothing) {
  client_.poll(4, WeightVersion());
  const auto lease = st::make_lease();
  reply({{lease}, WeightVersion(7), RunState::going});
  client_.poll(0, WeightVersion());
  (void)client_.take_leases();
  client_.hand_in(st::answer(lease, 2));
  reply({{}, WeightVersion(7), RunState::going, {{lease.id, RecallForm::hand_back}}});
  client_.poll(0, WeightVersion());
  EXPECT_TRUE(client_.take_recalls().empty());
}

TEST_F(WorkClientTest, says_goodbye_to_every_buffer_when_it_is_over) {
  client_.poll(4, WeightVersion());
  (void)next_request();
  reply({{}, WeightVersion(0), RunState::over});
  client_.poll(4, WeightVersion());
  EXPECT_TRUE(client_.finished());
  for (const int buffer : {0, 1}) {
    const auto envelope = network_.endpoint(buffer).try_receive(Party::server);
    ASSERT_TRUE(envelope);
    EXPECT_EQ(envelope->kind, MessageKind::goodbye);
  }
  client_.poll(9, WeightVersion());
  client_.hand_in(st::answer(st::make_lease(), 2));
  EXPECT_FALSE(head_.try_receive(Party::server));
}

TEST_F(WorkClientTest, drops_and_counts_malformed_replies) {
  client_.poll(4, WeightVersion());
  network_.inject(0, 2, static_cast<int>(MessageKind::work_reply), Bytes(3));
  client_.poll(4, WeightVersion());
  EXPECT_EQ(client_.malformed_messages(), 1);
  EXPECT_FALSE(client_.finished());
}

TEST_F(WorkClientTest, an_alarm_goes_to_the_head) {
  client_.raise_alarm("no numbers");
  const auto envelope = head_.try_receive(Party::server);
  ASSERT_TRUE(envelope);
  ASSERT_EQ(envelope->kind, MessageKind::alarm);
  EXPECT_EQ(decode<Alarm>(envelope->bytes).text, "no numbers");
}

}  // namespace
}  // namespace physarum::exchange
