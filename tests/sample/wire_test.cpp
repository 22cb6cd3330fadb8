#include "physarum/sample/wire.hpp"

#include <limits>

#include <gtest/gtest.h>

#include "physarum/sample/micro_batches.hpp"

#include "sample/builders.hpp"

namespace physarum::sample {
namespace {

using base::ByteReader;
using base::Bytes;
using base::ByteWriter;
using base::MalformedBytes;

template <class T>
Bytes encode(const T& value) {
  ByteWriter out;
  write(out, value);
  return out.take();
}

SampleGroup decode_group(const Bytes& bytes) {
  ByteReader in(bytes);
  auto group = read_sample_group(in);
  in.finish();
  return group;
}

Lease decode_lease(const Bytes& bytes) {
  ByteReader in(bytes);
  auto lease = read_lease(in);
  in.finish();
  return lease;
}

BatchPlan decode_plan(const Bytes& bytes) {
  ByteReader in(bytes);
  auto plan = read_batch_plan(in);
  in.finish();
  return plan;
}

SampleGroup make_cut_group() {
  auto group = testing::make_group(5, 3);
  for (auto& sample : group.samples) sample = testing::with_nuclei(std::move(sample));
  return group;
}

SampleGroup make_top_group() {
  auto group = testing::make_group(5, 3);
  for (auto& sample : group.samples) sample = testing::with_top_log_probs(std::move(sample));
  return group;
}

BatchPlan make_plan() {
  BatchPlan plan;
  plan.step = 3;
  for (std::int64_t id = 0; id < 12; ++id)
    plan.samples.push_back(summarise(testing::make_sample(id, id / 4, id % 4), 0));
  plan.micro_batches = plan_micro_batches(plan.samples, 2, 2, {});
  return plan;
}

TEST(Wire, returns_what_was_written) {
  EXPECT_EQ(decode_group(encode(testing::make_group(5, 4))), testing::make_group(5, 4));
  EXPECT_EQ(decode_group(encode(make_cut_group())), make_cut_group());
  EXPECT_EQ(decode_group(encode(make_top_group())), make_top_group());
  EXPECT_EQ(decode_lease(encode(testing::make_lease())), testing::make_lease());
  EXPECT_EQ(decode_lease(encode(testing::begun_lease())), testing::begun_lease());
  EXPECT_EQ(decode_plan(encode(make_plan())), make_plan());
}

TEST(Wire, a_lease_goes_on_with_its_own_unfinished_group_or_with_nothing) {
  const auto malformed = [](auto spoil) {
    auto lease = testing::begun_lease();
    spoil(lease);
    EXPECT_THROW((void)decode_lease(encode(lease)), MalformedBytes);
  };
  malformed([](Lease& lease) { lease.begun.pop_back(); });
  malformed([](Lease& lease) { lease.begun.back().status = SampleStatus::completed; });
  malformed([](Lease& lease) { lease.begun.back().group = GroupId(77); });
  malformed([](Lease& lease) { lease.first_sample = SampleId(13); });
  malformed([](Lease& lease) { lease.begun.front().mask.clear(); });
}

TEST(Wire, the_least_sizes_are_no_larger_than_empty_values) {
  EXPECT_LE(least_lease_bytes, encode(Lease()).size());
  EXPECT_LE(least_sample_bytes, encode(Sample()).size());
  EXPECT_LE(least_summary_bytes, encode(SampleSummary()).size());
}

TEST(Wire, a_group_that_breaks_an_invariant_is_malformed) {
  auto group = testing::make_group(5, 4);
  group.samples[2].mask.pop_back();
  EXPECT_THROW((void)decode_group(encode(group)), MalformedBytes);
}

TEST(Wire, a_sample_alone_has_nuclei_that_fit_together) {
  // Its other rules depend on its group, but every set must lie in the ids.
  const auto decode = [](const Sample& sample) {
    const auto bytes = encode(sample);
    ByteReader in(bytes);
    return read_sample(in);
  };
  auto sample = make_cut_group().samples[0];
  EXPECT_EQ(decode(sample), sample);
  sample.nuclei.ends[0] = sample.nuclei.ends.back() + 1;
  EXPECT_THROW((void)decode(sample), MalformedBytes);
  sample = make_cut_group().samples[0];
  sample.nuclei.ids.pop_back();
  EXPECT_THROW((void)decode(sample), MalformedBytes);
}

TEST(Wire, a_plan_with_uneven_micro_batches_is_malformed) {
  auto plan = make_plan();
  plan.micro_batches[0][1].pop_back();
  EXPECT_THROW((void)decode_plan(encode(plan)), MalformedBytes);
  plan = make_plan();
  plan.micro_batches[1][1][0].push_back(12);
  EXPECT_THROW((void)decode_plan(encode(plan)), MalformedBytes);
}

TEST(Wire, sampling_options_that_make_no_sense_are_malformed) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto refused = [](auto spoil) {
    auto lease = testing::make_lease();
    spoil(lease.sampling);
    EXPECT_THROW((void)decode_lease(encode(lease)), MalformedBytes);
  };
  for (const double bad : {nan, -0.5}) {
    refused([&](SamplingOptions& o) { o.temperature = bad; });
    refused([&](SamplingOptions& o) { o.top_p = bad; });
    refused([&](SamplingOptions& o) { o.min_p = bad; });
  }
  for (const double bad : {nan, std::numeric_limits<double>::infinity()}) {
    refused([&](SamplingOptions& o) { o.repetition_penalty = bad; });
    refused([&](SamplingOptions& o) { o.presence_penalty = bad; });
    refused([&](SamplingOptions& o) { o.frequency_penalty = bad; });
  }
  refused([](SamplingOptions& o) { o.repetition_penalty = 0; });
  refused([](SamplingOptions& o) { o.top_p = 0; });
  refused([](SamplingOptions& o) { o.min_p = 1.5; });
  refused([](SamplingOptions& o) { o.nucleus_limit = -1; });
  for (const std::int64_t bad :
       {std::int64_t{-1}, most_top_log_probs + 1, std::numeric_limits<std::int64_t>::max()}) {
    refused([bad](SamplingOptions& o) { o.top_log_probs = bad; });
  }
  refused([](SamplingOptions& o) { o.min_response_tokens = -1; });
  refused([](SamplingOptions& o) { o.max_response_tokens = -1; });
  refused([](SamplingOptions& o) { o.stop_token_ids = {3, -1}; });
  refused([](SamplingOptions& o) { o.stop_strings = {"a", ""}; });
  refused([](SamplingOptions& o) { o.stop_strings = {std::string(1001, 'x')}; });
  refused([](SamplingOptions& o) { o.stop_strings.assign(17, "x"); });
}

template <class Decode>
void expect_truncations_refused(const Bytes& good, Decode decode) {
  for (std::size_t length = 0; length < good.size(); ++length) {
    const Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_THROW((void)decode(cut), MalformedBytes) << "length " << length;
  }
  Bytes longer = good;
  longer.push_back(std::byte{0});
  EXPECT_THROW((void)decode(longer), MalformedBytes);
}

TEST(Wire, every_truncation_is_malformed) {
  expect_truncations_refused(encode(testing::make_group(5, 3)), decode_group);
  expect_truncations_refused(encode(make_cut_group()), decode_group);
  expect_truncations_refused(encode(make_top_group()), decode_group);
  expect_truncations_refused(encode(testing::make_lease()), decode_lease);
  expect_truncations_refused(encode(make_plan()), decode_plan);
}

/// Flips up to four bits and perhaps cuts the end: the outcome is a value that keeps its promises
/// or MalformedBytes, never anything else.
template <class Decode, class Holds>
void expect_flips_survived(const Bytes& good, Decode decode, Holds holds) {
  int refused = 0;
  for (std::int64_t round = 0; round < 4000; ++round) {
    Bytes bytes = good;
    const auto flips = testing::draw(7, round, 0, 1, 4);
    for (std::int64_t flip = 0; flip < flips; ++flip) {
      const auto bit =
          static_cast<std::size_t>(testing::draw(8, round, static_cast<std::uint32_t>(flip), 0,
                                                 static_cast<std::int64_t>(bytes.size()) * 8 - 1));
      bytes[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
    }
    try {
      EXPECT_TRUE(holds(decode(bytes)));
    } catch (const MalformedBytes&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);
}

TEST(Wire, flipped_bits_are_refused_or_harmless) {
  expect_flips_survived(encode(testing::make_group(5, 3)), decode_group,
                        [](const SampleGroup& group) { return !find_fault(group); });
  expect_flips_survived(encode(make_cut_group()), decode_group,
                        [](const SampleGroup& group) { return !find_fault(group); });
  expect_flips_survived(encode(make_top_group()), decode_group,
                        [](const SampleGroup& group) { return !find_fault(group); });
  expect_flips_survived(encode(testing::make_lease()), decode_lease,
                        [](const Lease& lease) { return lease.id.valid() && lease.n_samples > 0; });
  expect_flips_survived(encode(make_plan()), decode_plan, [](const BatchPlan& plan) {
    return plan.micro_batches.empty() || plan.dp_size() >= 0;
  });
}

}  // namespace
}  // namespace physarum::sample
