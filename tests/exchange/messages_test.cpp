#include "physarum/exchange/messages.hpp"

#include <tuple>

#include <gtest/gtest.h>

#include "physarum/sample/micro_batches.hpp"

#include "sample/builders.hpp"

namespace physarum::exchange {
namespace {

namespace st = sample::testing;

sample::BatchPlan make_plan() {
  sample::BatchPlan plan;
  for (std::int64_t id = 0; id < 8; ++id)
    plan.samples.push_back(summarise(st::make_sample(id, id / 4, id % 4), 1));
  plan.micro_batches = plan_micro_batches(plan.samples, 2, 1, {});
  return plan;
}

/// One of each kind.
auto all_messages() {
  const auto group = st::make_group(4, 2);
  return std::tuple{
      WorkRequest{7, 3, WeightVersion(2), WeightVersion(1), {5, 6}},
      WorkReply{{st::make_lease(1), st::begun_lease(2)},
                WeightVersion(4),
                RunState::over,
                {{LeaseId(7), RecallForm::hand_back}, {LeaseId(9), RecallForm::drop}}},
      TakeRequest{5},
      TakeReply{make_plan()},
      FetchRequest{5, {{GroupId(1), SampleId(4)}, {GroupId(2), SampleId(9)}}},
      FetchReply{5, group.samples},
      Fetched{6},
      Published{WeightVersion(8)},
      StepReport{2, {{"train/loss", 0.5}, {"train/grad_norm", 1.5}}},
      Finish{},
      Goodbye{},
      Delivery{group},
      HandBack{st::unfinished_group(4, 2)},
      Arrival{GroupId(4),
              LeaseId(9),
              WorldRank(3),
              DeliveryOutcome::stored,
              {summarise(group.samples[0], 0), summarise(group.samples[1], 0)}},
      Release{ReleaseReason::again, {GroupId(1), GroupId(5)}},
      ArchiveOrder{3, sample::Purpose::evaluate, "eval_3.h5", {GroupId(2)}},
      ArchiveReady{3},
      Shutdown{},
      SnapshotRequest{4},
      SnapshotOrder{4, {GroupId(3), GroupId(7)}},
      Snapshot{4, Bytes(9, std::byte{5})},
      ErrandOrder{4, Errand::save_and_stop, ErrandForm::before_batch},
      Notice{true, "a text"},
      Alarm{"a reason"},
      StopRequest{}};
}

template <class Check>
void for_all(Check check) {
  std::apply([&](const auto&... message) { (check(message), ...); }, all_messages());
}

TEST(Messages, decode_to_what_was_encoded) {
  for_all([]<class M>(const M& message) {
    // Encodings are canonical: equal bytes are equal messages.
    EXPECT_EQ(encode(decode<M>(encode(message))), encode(message)) << name_of(M::kind);
  });
  const auto report = decode<StepReport>(encode(StepReport{2, {{"train/loss", 0.5}}}));
  EXPECT_EQ(report.metrics.at("train/loss"), 0.5);
  const auto order = decode<ArchiveOrder>(
      encode(ArchiveOrder{3, sample::Purpose::evaluate, "eval_3.h5", {GroupId(2)}}));
  EXPECT_EQ(order.file_name, "eval_3.h5");
  EXPECT_EQ(order.purpose, sample::Purpose::evaluate);
}

TEST(EngineCounters, every_count_travels_and_adds_up) {
  // No count may be left out of the list.
  static_assert(sizeof(EngineCounters) == EngineCounters::members.size() * sizeof(std::int64_t));
  WorkRequest request;
  std::int64_t next = 1;
  for (const auto member : EngineCounters::members) request.counters.*member = next++;
  auto all = decode<WorkRequest>(encode(request)).counters;
  EXPECT_EQ(all, request.counters);
  all += request.counters;
  next = 1;
  for (const auto member : EngineCounters::members) EXPECT_EQ(all.*member, 2 * next++);
}

TEST(Messages, every_truncation_and_every_extra_byte_is_malformed) {
  for_all([]<class M>(const M& message) {
    const Bytes good = encode(message);
    for (std::size_t length = 0; length < good.size(); ++length) {
      EXPECT_THROW((void)decode<M>(ByteView(good).first(length)), base::MalformedBytes)
          << name_of(M::kind) << " of length " << length;
    }
    Bytes longer = good;
    longer.push_back(std::byte{1});
    EXPECT_THROW((void)decode<M>(longer), base::MalformedBytes) << name_of(M::kind);
  });
}

TEST(Messages, flipped_bits_never_do_worse_than_malformed) {
  for_all([]<class M>(const M& message) {
    const Bytes good = encode(message);
    for (std::int64_t round = 0; round < 500 && !good.empty(); ++round) {
      Bytes bytes = good;
      const auto bit = static_cast<std::size_t>(
          st::draw(3, round, 0, 0, static_cast<std::int64_t>(bytes.size()) * 8 - 1));
      bytes[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
      try {
        (void)decode<M>(bytes);
      } catch (const base::MalformedBytes&) {
      }
    }
  });
}

TEST(Messages, random_bytes_never_do_worse_than_malformed) {
  for_all([]<class M>(const M&) {
    for (std::int64_t round = 0; round < 300; ++round) {
      Bytes bytes(static_cast<std::size_t>(st::draw(4, round, 0, 0, 200)));
      for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] =
            static_cast<std::byte>(st::draw(5, round, static_cast<std::uint32_t>(i), 0, 255));
      try {
        (void)decode<M>(bytes);
      } catch (const base::MalformedBytes&) {
      }
    }
  });
}

TEST(Messages, an_archive_order_stays_in_its_directory) {
  EXPECT_THROW(
      (void)decode<ArchiveOrder>(encode(ArchiveOrder{3, sample::Purpose::train, "../up.h5", {}})),
      base::MalformedBytes);
}

TEST(Messages, only_what_is_unfinished_is_handed_back) {
  EXPECT_THROW((void)decode<HandBack>(encode(HandBack{st::make_group(4, 2)})),
               base::MalformedBytes);
}

TEST(Messages, every_kind_has_a_name_and_others_have_none) {
  for_all([]<class M>(const M&) {
    EXPECT_TRUE(is_message_kind(static_cast<int>(M::kind)));
    EXPECT_NE(name_of(M::kind), "unknown");
  });
  EXPECT_FALSE(is_message_kind(0));
  EXPECT_FALSE(is_message_kind(1000));
}

}  // namespace
}  // namespace physarum::exchange
