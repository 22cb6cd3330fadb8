#include "physarum/sample/sample.hpp"

#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"

#include "physarum/sample/sample_group.hpp"

#include "sample/builders.hpp"

namespace physarum::sample {
namespace {

using testing::make_group;
using testing::make_sample;

TEST(Sample, a_complete_one_has_no_fault) {
  EXPECT_EQ(find_fault(make_sample(7, 1, 3), Purpose::train), std::nullopt);
}

TEST(Sample, every_broken_invariant_is_a_fault) {
  const std::function<void(Sample&)> breaks[] = {
      [](Sample& s) { s.id = SampleId(); },
      [](Sample& s) { s.lease = LeaseId(); },
      [](Sample& s) { s.prompt_tokens = -1; },
      [](Sample& s) { s.prompt_tokens = std::numeric_limits<std::int64_t>::min(); },
      [](Sample& s) { s.prompt_tokens = 1000; },
      [](Sample& s) { s.mask.pop_back(); },
      [](Sample& s) { s.mask[0] = 2; },
      [](Sample& s) { s.log_probs.clear(); },
      [](Sample& s) { s.log_probs[0] = 0.5F; },
      [](Sample& s) { s.log_probs[0] = std::numeric_limits<float>::quiet_NaN(); },
      [](Sample& s) { s.mask[0] = 0; },
      [](Sample& s) { s.tokens[0] = -1; },
      [](Sample& s) { s.versions[0].tokens -= 1; },
      [](Sample& s) { s.versions[0].version = WeightVersion(); },
      [](Sample& s) {
        s.versions.push_back({WeightVersion(1), 0});
      },
      [](Sample& s) {
        s.versions.push_back({WeightVersion(1), -1});
      },
      [](Sample& s) { s.status = SampleStatus::pending; },
      [](Sample& s) { s.status = SampleStatus::failed; },
      [](Sample& s) { s.reward = std::numeric_limits<double>::infinity(); },
      [](Sample& s) { s.generation_s = -1; },
  };
  int number = 0;
  for (const auto& break_it : breaks) {
    Sample sample = make_sample(7, 1, 3);
    break_it(sample);
    EXPECT_NE(find_fault(sample, Purpose::train), std::nullopt) << "break " << number;
    ++number;
  }
}

TEST(Sample, nuclei_are_rising_ids_that_the_token_is_among) {
  Sample good;
  for (std::int64_t id = 7; good.nuclei.size() < 2 || good.nuclei.at(0).size() < 3; ++id)
    good = testing::with_nuclei(make_sample(id, 1, 3));
  EXPECT_EQ(find_fault(good, Purpose::train), std::nullopt);
  const auto drawn = good.tokens[static_cast<std::size_t>(good.prompt_tokens)];
  const std::function<void(base::TokenSets&)> breaks[] = {
      [](auto& n) { n.ends.pop_back(); },
      [](auto& n) { n.ids.pop_back(); },
      [](auto& n) { n.ids.push_back(1000); },
      [](auto& n) { n.ends.back() -= 1; },
      [](auto& n) { n.ends[0] = -1; },
      [](auto& n) { n.ends[0] = n.ends[1] + 1; },
      [](auto& n) { n.ends[0] = std::numeric_limits<std::int64_t>::max(); },
      [](auto& n) { n.ends.clear(); },
      [](auto& n) { n.ends.push_back(n.ends.back()); },
      [](auto& n) { std::swap(n.ids[0], n.ids[1]); },
      [](auto& n) { n.ids[1] = n.ids[0]; },
      [](auto& n) { n.ids[0] = -1; },
      [drawn](auto& n) {
        for (auto& id : n.ids) id += id >= drawn ? 1 : 0;
      },
  };
  int number = 0;
  for (const auto& break_it : breaks) {
    Sample sample = good;
    break_it(sample.nuclei);
    EXPECT_NE(find_fault(sample, Purpose::train), std::nullopt) << "break " << number;
    ++number;
  }
  Sample supervised = good;
  supervised.log_probs.clear();
  EXPECT_NE(find_fault(supervised, Purpose::supervised), std::nullopt);
}

TEST(Sample, top_log_probs_are_equally_many_per_token_and_fall) {
  Sample good = make_sample(7, 1, 3);
  for (std::int64_t id = 8; good.response_tokens() < 2; ++id) good = make_sample(id, 1, 3);
  good = testing::with_top_log_probs(std::move(good));
  ASSERT_EQ(good.top_log_probs.per_token(good.response_tokens()), 3);
  EXPECT_EQ(find_fault(good, Purpose::train), std::nullopt);
  const auto nan = std::numeric_limits<float>::quiet_NaN();
  const std::function<void(TopLogProbs&)> breaks[] = {
      [](auto& t) { t.ids.pop_back(); },
      [](auto& t) { t.log_probs.pop_back(); },
      [](auto& t) { t.push(std::vector<TokenId>{1}, std::vector<float>{-1}); },
      [](auto& t) { t.ids.clear(); },
      [](auto& t) { t.log_probs.clear(); },
      [](auto& t) { t.ids[0] = no_alternative; },
      [](auto& t) { t.ids[1] = -2; },
      [](auto& t) { t.log_probs[0] = 0.5F; },
      [](auto& t) { t.log_probs[0] = t.log_probs[1] - 1; },
      [](auto& t) { t.log_probs[1] = t.log_probs[0] + 0.125F; },
      [](auto& t) { t.log_probs[1] = no_log_prob; },
      [nan](auto& t) { t.log_probs[1] = nan; },
      [](auto& t) { t.ids[2] = t.ids[2] == no_alternative ? 9 : no_alternative; },
      [](auto& t) {
        t.ids.assign(t.ids.size() / 3 * (most_top_log_probs + 1), 5);
        t.log_probs.assign(t.ids.size(), -0.0F);
      },
  };
  int number = 0;
  for (const auto& break_it : breaks) {
    Sample sample = good;
    break_it(sample.top_log_probs);
    EXPECT_NE(find_fault(sample, Purpose::train), std::nullopt) << "break " << number;
    ++number;
  }
  Sample empty = good;
  empty.top_log_probs = {};
  empty.top_log_probs.push(std::vector<TokenId>{1}, std::vector<float>{-1});
  EXPECT_NE(find_fault(empty, Purpose::train), std::nullopt) << "fewer than one for each token";
  Sample supervised = good;
  supervised.log_probs.clear();
  EXPECT_NE(find_fault(supervised, Purpose::supervised), std::nullopt);
  // What is masked later keeps them.
  Sample masked = good;
  mask_older_than(masked, WeightVersion(9));
  EXPECT_EQ(find_fault(masked, Purpose::train), std::nullopt);
  EXPECT_EQ(masked.top_log_probs, good.top_log_probs);
}

TEST(Sample, supervised_ones_carry_no_log_probs) {
  Sample sample = make_sample(7, 1, 3);
  EXPECT_NE(find_fault(sample, Purpose::supervised), std::nullopt);
  sample.log_probs.clear();
  EXPECT_EQ(find_fault(sample, Purpose::supervised), std::nullopt);
}

TEST(Sample, versions_span_all_runs) {
  Sample sample = make_sample(7, 1, 3);
  sample.versions = {{WeightVersion(4), 1}, {WeightVersion(3), 1}, {WeightVersion(6), 1}};
  EXPECT_EQ(sample.oldest_version(), WeightVersion(3));
  EXPECT_EQ(sample.newest_version(), WeightVersion(6));
  sample.versions.clear();
  EXPECT_FALSE(sample.oldest_version().valid());
}

TEST(Sample, a_removed_one_trains_no_tokens) {
  Sample sample = make_sample(7, 1, 3);
  EXPECT_GT(sample.trained_tokens(), 0);
  sample.removed = true;
  EXPECT_EQ(sample.trained_tokens(), 0);
}

TEST(Sample, tokens_of_older_versions_can_be_masked) {
  for (const std::int64_t version : {1, 2, 3, 4}) {
    auto sample = testing::make_sample(5, 1, 1, 1);
    sample.tokens.resize(static_cast<std::size_t>(sample.prompt_tokens) + 5, 3);
    sample.mask = {1, 1, 0, 1, 1};
    sample.log_probs = {-1, -2, 0, -3, -4};
    sample.versions = {{WeightVersion(1), 2}, {WeightVersion(2), 1}, {WeightVersion(3), 2}};
    auto summary = summarise(sample, 0);
    EXPECT_EQ(summary.newest_tokens, 2);
    mask_older_than(sample, WeightVersion(version));
    EXPECT_FALSE(find_fault(sample, Purpose::train));
    // Of a batch whose samples end with its own version or before it.
    if (version >= 3 || version == 1) {
      mask_older_than(summary, WeightVersion(version));
      EXPECT_EQ(summary.trained_tokens, sample.trained_tokens()) << version;
    }
    const std::vector<std::uint8_t> expected[] = {
        {1, 1, 0, 1, 1}, {0, 0, 0, 1, 1}, {0, 0, 0, 1, 1}, {0, 0, 0, 0, 0}};
    EXPECT_EQ(sample.mask, expected[version - 1]);
  }
}

TEST(SampleGroup, members_share_ids_and_stand_in_order) {
  EXPECT_EQ(find_fault(make_group(5, 4)), std::nullopt);
  auto swapped = make_group(5, 4);
  std::swap(swapped.samples[1], swapped.samples[2]);
  EXPECT_NE(find_fault(swapped), std::nullopt);
  auto gap = make_group(5, 4);
  gap.samples[3].id = SampleId(99);
  EXPECT_NE(find_fault(gap), std::nullopt);
  auto stranger = make_group(5, 4);
  stranger.samples[2].lease = LeaseId(1);
  EXPECT_NE(find_fault(stranger), std::nullopt);
  auto empty = make_group(5, 4);
  empty.samples.clear();
  EXPECT_NE(find_fault(empty), std::nullopt);
  EXPECT_THROW(check(empty), base::ContractViolation);
}

TEST(SampleGroup, oldest_version_is_that_of_any_member) {
  auto group = make_group(5, 3, 8);
  group.samples[1].versions[0].version = WeightVersion(6);
  EXPECT_EQ(group.oldest_version(), WeightVersion(6));
}

TEST(SampleGroup, an_aborted_member_is_seen) {
  auto group = make_group(5, 3);
  EXPECT_FALSE(group.has_aborted());
  group.samples[2].status = SampleStatus::aborted;
  EXPECT_TRUE(group.has_aborted());
}

}  // namespace
}  // namespace physarum::sample
