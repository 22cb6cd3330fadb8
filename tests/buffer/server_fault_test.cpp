#include <set>

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"

#include "physarum/exchange/messages.hpp"

#include "buffer/circle.hpp"

namespace physarum::buffer {
namespace {

using exchange::MessageKind;
using testing::Circle;
using testing::CircleOptions;
using testing::without_leases;
namespace st = sample::testing;

CircleOptions short_leases(Mode mode = Mode::sync) {
  auto options = testing::small_circle(mode);
  options.buffer.lease_deadline_s = 1;  // 100 turns
  options.engines = 2;
  return options;
}

void expect_the_usual_batches(Circle& circle) {
  auto options = short_leases();
  options.engines = 1;
  Circle reference(options);
  ASSERT_TRUE(reference.run());
  for (std::int64_t step = 0; step < options.num_rollout; ++step)
    EXPECT_EQ(without_leases(circle.batch(step)), without_leases(reference.batch(step)));
}

TEST(ServerFaults, an_expired_lease_is_lent_to_another_engine) {
  Circle circle(short_leases());
  // Engine 0 keeps the second group that it gets for ever.
  int count = 0;
  circle.engines[0]->before_hand_in = [&](auto&) { return ++count != 2; };
  ASSERT_TRUE(circle.run()) << circle.head().describe();
  EXPECT_EQ(circle.counters().expired_leases, 1);
  expect_the_usual_batches(circle);
}

TEST(ServerFaults, a_group_that_comes_after_its_deadline_counts_if_it_is_first) {
  Circle circle(short_leases());
  bool slow = true;
  for (auto& engine : circle.engines) {
    engine->delay = [&](const auto&) { return std::exchange(slow, false) ? 130 : 60; };
  }
  ASSERT_TRUE(circle.run()) << circle.head().describe();
  EXPECT_EQ(circle.counters().expired_leases, 1);
  EXPECT_EQ(circle.counters().repeated_groups, 1);  // the other engine's, a little later
  expect_the_usual_batches(circle);
}

TEST(ServerFaults, a_group_delivered_twice_is_stored_once) {
  Circle circle(short_leases());
  const int engine = circle.engine_rank(0);
  circle.engines[0]->before_hand_in = [&](const sample::SampleGroup& group) {
    circle.network().inject(engine, 0, static_cast<int>(MessageKind::delivery),
                            encode(exchange::Delivery{group}));
    return true;
  };
  ASSERT_TRUE(circle.run()) << circle.head().describe();
  EXPECT_GT(circle.counters().repeated_groups, 0);
  EXPECT_EQ(circle.counters().malformed_messages, 0);
  expect_the_usual_batches(circle);
}

TEST(ServerFaults, a_delivery_long_after_its_batch_is_ignored) {
  Circle circle(short_leases());
  std::optional<sample::SampleGroup> first;
  circle.engines[0]->before_hand_in = [&](const sample::SampleGroup& group) {
    if (!first) first = group;
    return true;
  };
  while (circle.trainers->batches.size() < 3) circle.turn();
  circle.network().inject(circle.engine_rank(0), 0, static_cast<int>(MessageKind::delivery),
                          encode(exchange::Delivery{*first}));
  ASSERT_TRUE(circle.run()) << circle.head().describe();
  EXPECT_EQ(circle.counters().repeated_groups, 1);
}

TEST(ServerFaults, an_aborted_group_is_generated_again) {
  Circle circle(short_leases());
  bool aborted = false;
  circle.engines[1]->before_hand_in = [&](sample::SampleGroup& group) {
    if (!std::exchange(aborted, true)) group.samples[1].status = sample::SampleStatus::aborted;
    return true;
  };
  ASSERT_TRUE(circle.run()) << circle.head().describe();
  EXPECT_EQ(circle.counters().aborted_groups, 1);
  expect_the_usual_batches(circle);
}

TEST(ServerFaults, a_group_that_never_succeeds_ends_the_run) {
  Circle circle(short_leases());
  for (auto& engine : circle.engines) {
    engine->before_hand_in = [&](sample::SampleGroup& group) {
      if (group.id == testing::GroupId(2)) group.samples[0].status = sample::SampleStatus::aborted;
      return true;
    };
  }
  EXPECT_THROW(circle.run(), base::WorldError);
}

TEST(ServerFaults, a_dead_engines_leases_go_to_the_others) {
  Circle circle(short_leases());
  while (circle.engines[0]->client.leases_in_flight() == 0) circle.turn();
  circle.engines[0]->dead = true;
  circle.network().kill(circle.engine_rank(0));
  ASSERT_TRUE(circle.run()) << circle.head().describe();
  EXPECT_GT(circle.counters().returned_leases, 0);
  expect_the_usual_batches(circle);
}

TEST(ServerFaults, without_engines_or_with_a_dead_trainer_the_run_ends) {
  auto options = short_leases();
  options.engines = 1;
  Circle lonely(options);
  for (int i = 0; i < 4; ++i) lonely.turn();
  lonely.network().kill(lonely.engine_rank(0));
  EXPECT_THROW(lonely.run(), base::WorldError);
  Circle headless(options);
  headless.network().kill(1);
  EXPECT_THROW(headless.run(), base::WorldError);
}

TEST(ServerFaults, nonsense_from_any_rank_is_counted_and_harms_nobody) {
  Circle circle(short_leases());
  std::int64_t sent = 0;
  const int ranks = circle.network().size();
  for (int i = 0; i < 400; ++i) {
    const auto tag = static_cast<int>(st::draw(6, i, 0, 1, 14));
    const auto from = static_cast<int>(st::draw(6, i, 1, 1, ranks - 1));
    // Goodbyes and finishes have no content that could be wrong; the next test is about them.
    if (tag == static_cast<int>(MessageKind::goodbye)) continue;
    exchange::Bytes bytes(static_cast<std::size_t>(st::draw(6, i, 2, 1, 5)));
    circle.network().inject(from, 0, tag, std::move(bytes));
    ++sent;
    if (i % 20 == 0) circle.turn();
  }
  ASSERT_TRUE(circle.run()) << circle.head().describe();
  EXPECT_EQ(circle.counters().malformed_messages, sent);
  expect_the_usual_batches(circle);
}

TEST(ServerFaults, messages_of_a_role_that_the_sender_has_not_are_dropped) {
  Circle circle(short_leases());
  const auto inject = [&]<class M>(int from, const M& message) {
    circle.network().inject(from, 0, static_cast<int>(M::kind), encode(message));
  };
  const int trainer = 1, engine = circle.engine_rank(0);
  inject(engine, exchange::Published{WeightVersion(50)});
  inject(engine, exchange::Finish{});
  inject(engine, exchange::TakeRequest{0});
  inject(engine, exchange::Shutdown{});
  inject(engine, exchange::Goodbye{exchange::Party::trainer});
  inject(engine, exchange::Release{exchange::ReleaseReason::done, {testing::GroupId(0)}});
  inject(trainer, exchange::WorkRequest{5, 0, {}, {}});
  inject(trainer, exchange::Delivery{st::make_group(0, 2)});
  inject(trainer, exchange::TakeRequest{99});
  inject(trainer, exchange::FetchRequest{0, {{testing::GroupId(3), base::SampleId(6)}}});
  inject(trainer, exchange::Fetched{2});
  ASSERT_TRUE(circle.run()) << circle.head().describe();
  EXPECT_EQ(circle.counters().malformed_messages, 11);
  expect_the_usual_batches(circle);
}

TEST(ServerFaults, an_alarm_of_an_engine_ends_the_run_and_one_of_others_does_not) {
  Circle circle(short_leases());
  const auto raise = [&](int from) {
    circle.network().inject(from, 0, static_cast<int>(MessageKind::alarm),
                            encode(exchange::Alarm{"no numbers"}));
  };
  raise(1);  // a trainer
  circle.turn();
  EXPECT_EQ(circle.counters().malformed_messages, 1);
  const int engine = circle.engine_rank(0);
  raise(engine);
  try {
    circle.run();
    FAIL() << "it went on";
  } catch (const EngineAlarm& alarm) {
    EXPECT_EQ(alarm.what(),
              "the engine on rank " + std::to_string(engine) + " cannot go on: no numbers");
  }
}

TEST(ServerFaults, a_group_that_nobody_asked_for_is_thrown_away) {
  Circle circle(short_leases());
  auto group = st::make_group(15, 2);  // step 3: not lent yet
  circle.network().inject(circle.engine_rank(0), 0, static_cast<int>(MessageKind::delivery),
                          encode(exchange::Delivery{group}));
  ASSERT_TRUE(circle.run()) << circle.head().describe();
  EXPECT_EQ(circle.counters().malformed_messages, 1);
  expect_the_usual_batches(circle);
}

std::string message_of(Circle& circle) {
  try {
    circle.run();
  } catch (const base::DeadlineExceeded& error) {
    return error.what();
  }
  return "";
}

TEST(ServerFaults, a_silent_client_is_named) {
  auto options = short_leases();
  options.buffer.distributed_timeout_minutes = 0.1;  // 600 turns
  Circle circle(options);
  circle.trainers->dead = true;
  EXPECT_NE(message_of(circle).find("trainer on rank 1 has been silent"), std::string::npos);
  Circle other(options);
  other.engines[1]->dead = true;
  EXPECT_NE(message_of(other).find("engine on rank 3 has been silent"), std::string::npos);
}

TEST(ServerFaults, a_trainer_that_stops_asking_is_named) {
  auto options = short_leases();
  options.buffer.distributed_timeout_minutes = 0.1;
  Circle circle(options);
  circle.trainers->pause_before_step = 2;
  EXPECT_NE(message_of(circle).find("trainer on rank 1"), std::string::npos);
}

TEST(ServerFaults, publishing_too_early_in_one_step_async_is_our_own_mistake) {
  Circle circle(short_leases(Mode::one_step_async));
  circle.turn();
  circle.turn();
  // Version 1 may come only when all groups of step 1 are there.
  circle.network().inject(1, 0, static_cast<int>(MessageKind::published),
                          encode(exchange::Published{WeightVersion(1)}));
  EXPECT_THROW(circle.run(), base::ContractViolation);
}

}  // namespace
}  // namespace physarum::buffer
