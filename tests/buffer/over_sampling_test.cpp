// Steps that draw more groups than they take: what is taken, what becomes of the others.
#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "physarum/base/error.hpp"

#include "buffer/circle.hpp"
#include "support/temporary_directory.hpp"

namespace physarum::buffer {
namespace {

using namespace testing;
using Ids = std::vector<std::int64_t>;

/// Of eight groups every other one is short; every 16th is very long.
std::int64_t mixed_length(base::SampleId id) {
  const auto group = id.value() / 2;
  if (group % 16 == 5) return 120;
  return group % 2 == 1 ? 30 + group % 7 : 3 + id.value() % 3;
}

CircleOptions over_sampling(std::int64_t steps = 6) {
  auto options = small_circle();
  options.buffer.over_sampling_batch_size = 8;
  options.num_rollout = steps;
  options.engines = 2;
  options.engine_samples = 100;
  options.script = Script{.length = mixed_length};
  return options;
}

CircleOptions partial(std::int64_t steps = 6) {
  auto options = over_sampling(steps);
  options.buffer.partial_rollout = true;
  return options;
}

Ids group_ids(const std::vector<sample::Sample>& samples) {
  std::set<std::int64_t> ids;
  for (const auto& sample : samples) ids.insert(sample.group.value());
  return {ids.begin(), ids.end()};
}

/// As if it had been made in one go.
void expect_whole(const sample::Sample& sample, const Script& script) {
  ASSERT_EQ(sample.response_tokens(), script.length(sample.id)) << "sample " << sample.id.value();
  for (std::int64_t i = 0; i < sample.response_tokens(); ++i) {
    const auto place = static_cast<std::size_t>(i);
    EXPECT_EQ(sample.tokens[place + 2], Script::token(sample.id, i));
    EXPECT_EQ(sample.log_probs[place],
              sample.mask[place] == 1 ? Script::log_prob(sample.id, i) : 0);
  }
  EXPECT_EQ(sample.status, sample::SampleStatus::completed);
  EXPECT_EQ(sample.lease_history.back(), sample.lease);
}

/// Every batch is full and whole; each sample was learnt from once. Returns all of them.
std::map<std::int64_t, sample::Sample> trained_once(const Circle& circle) {
  std::map<std::int64_t, sample::Sample> all;
  for (std::int64_t step = circle.options.first_step; step < circle.options.num_rollout; ++step) {
    const auto samples = circle.batch(step);
    EXPECT_EQ(samples.size(), 8U) << "step " << step;
    for (const auto& sample : samples) {
      expect_whole(sample, *circle.options.script);
      EXPECT_TRUE(all.emplace(sample.id.value(), sample).second) << "trained twice";
    }
  }
  return all;
}

std::int64_t tokens_of(const std::map<std::int64_t, sample::Sample>& samples) {
  std::int64_t tokens = 0;
  for (const auto& [id, sample] : samples) tokens += sample.response_tokens();
  return tokens;
}

std::int64_t made_tokens(const Circle& circle) {
  std::int64_t tokens = 0;
  for (const auto& engine : circle.token_engines) tokens += engine->made_tokens;
  return tokens;
}

TEST(OverSampling, a_step_takes_the_groups_that_are_finished_first) {
  Circle circle(over_sampling());
  ASSERT_TRUE(circle.run()) << circle.head().describe();
  EXPECT_EQ(group_ids(circle.batch(0)), (Ids{0, 2, 4, 6}));
  EXPECT_EQ(group_ids(circle.batch(1)), (Ids{8, 10, 12, 14}));
  (void)trained_once(circle);
}

/// Its keys and values may still be there.
TEST(OverSampling, what_was_begun_goes_on_where_it_was_handed_back) {
  for (const int engines : {2, 3}) {
    auto options = partial(12);
    options.engines = engines;
    Circle circle(options);
    ASSERT_TRUE(circle.run()) << circle.head().describe();
    std::size_t resumed = 0;
    for (const auto& engine : circle.token_engines) {
      for (const auto& lease : engine->leases) {
        if (lease.begun.empty()) continue;
        ++resumed;
        EXPECT_TRUE(std::ranges::any_of(engine->returned,
                                        [&](const sample::SampleGroup& group) {
                                          return group.id == lease.group &&
                                                 group.lease == lease.history.back();
                                        }))
            << "group " << lease.group.value() << " of " << engines << " engines";
      }
    }
    EXPECT_GT(resumed, 10U);
    (void)trained_once(circle);
  }
}

TEST(OverSampling, without_partial_rollout_the_surplus_is_discarded) {
  Circle circle(over_sampling());
  ASSERT_TRUE(circle.run()) << circle.head().describe();
  EXPECT_EQ(circle.counters().discarded_groups, 6 * 4);
  EXPECT_EQ(circle.counters().recalled_groups, 0);
  EXPECT_EQ(circle.counters().malformed_messages, 0);
  std::set<std::int64_t> lent;
  std::int64_t drops = 0;
  for (const auto& engine : circle.token_engines) {
    drops += engine->drops;
    for (const auto& lease : engine->leases)
      EXPECT_TRUE(lent.insert(lease.group.value()).second) << "lent again";
  }
  EXPECT_GT(drops, 5 * 3) << "engines were not told";
}

TEST(OverSampling, unfinished_groups_are_lent_again_first_and_go_on_where_they_were) {
  Circle circle(partial());
  ASSERT_TRUE(circle.run()) << circle.head().describe();
  // Groups 1, 3, 5 and 7 are unfinished after the first step.
  std::map<std::int64_t, std::vector<sample::Lease>> leases;  // by version
  for (const auto& engine : circle.token_engines) {
    for (const auto& lease : engine->leases) leases[lease.version.value()].push_back(lease);
  }
  std::set<std::int64_t> resumed;
  for (const auto& lease : leases.at(1)) {
    if (lease.begun.empty()) continue;
    resumed.insert(lease.group.value());
    EXPECT_EQ(lease.history.size(), 1U);
    for (const auto& sample : lease.begun) EXPECT_GT(sample.response_tokens(), 0);
  }
  EXPECT_EQ(resumed, (std::set<std::int64_t>{1, 3, 5, 7}));
  EXPECT_EQ(leases.at(1).size(), 8U);
  const auto all = trained_once(circle);
  EXPECT_GT(circle.counters().resumed_groups, 0);
  EXPECT_GT(circle.counters().reused_tokens, 0);
  EXPECT_EQ(circle.counters().discarded_groups, 0);
  bool mixed = false;
  for (const auto& [id, sample] : all) mixed = mixed || sample.versions.size() > 1;
  EXPECT_TRUE(mixed) << "no sample has tokens of two versions";
}

TEST(OverSampling, no_token_is_made_twice) {
  Circle circle(partial(20));
  ASSERT_TRUE(circle.run()) << circle.head().describe();
  const auto all = trained_once(circle);
  // What is left at the end: the last states of groups that nobody learnt from.
  std::map<std::int64_t, std::int64_t> left;
  for (const auto& engine : circle.token_engines) {
    for (const auto& group : engine->returned) {
      for (const auto& sample : group.samples) {
        if (all.contains(sample.id.value())) continue;
        auto& tokens = left[sample.id.value()];
        tokens = std::max(tokens, sample.response_tokens());
      }
    }
  }
  std::int64_t unfinished = 0;
  for (const auto& [id, tokens] : left) unfinished += tokens;
  // Groups that were complete, or had not come back, when the run ended make the difference.
  EXPECT_GE(made_tokens(circle), tokens_of(all) + unfinished);
  EXPECT_LE(made_tokens(circle), tokens_of(all) + unfinished + 8 * 2 * 120);
  Circle wasteful(over_sampling(20));
  ASSERT_TRUE(wasteful.run());
  const auto kept = static_cast<double>(tokens_of(all)) / static_cast<double>(made_tokens(circle));
  const auto others = static_cast<double>(tokens_of(trained_once(wasteful))) /
                      static_cast<double>(made_tokens(wasteful));
  EXPECT_GT(kept, others + 0.2);
}

TEST(OverSampling, nothing_is_lost_or_trained_twice_whatever_chance_does) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    auto options = partial(15);
    options.seed = seed;
    options.buffers = 1 + static_cast<int>(seed % 3);
    options.trainers = 1 + static_cast<int>(seed % 2);
    options.engines = 1 + static_cast<int>(seed % 4);
    options.engine_samples = 3 + static_cast<std::int64_t>(seed) * 2;
    options.buffer.over_sampling_batch_size = 4 + static_cast<std::int64_t>(seed % 3) * 4;
    options.buffer.partial_rollout = seed % 3 != 0;
    options.save_at = 14;
    Circle circle(options);
    ASSERT_TRUE(circle.run()) << "seed " << seed << ": " << circle.head().describe();
    EXPECT_EQ(circle.counters().malformed_messages, 0) << "seed " << seed;
    (void)trained_once(circle);
    if (!options.buffer.partial_rollout) continue;
    // Every group that was ever drawn was learnt from, or the buffer still has it.
    std::set<std::int64_t> groups;
    for (std::int64_t step = 0; step < 14; ++step) {
      for (const auto id : group_ids(circle.batch(step))) groups.insert(id);
    }
    const auto& state = circle.trainers->snapshots.at(14);
    for (const auto& open : state.open) {
      EXPECT_TRUE(groups.insert(open.group.value()).second) << "open and learnt from";
    }
    EXPECT_EQ(std::ssize(groups), state.fresh_group) << "seed " << seed;
  }
}

TEST(OverSampling, a_step_waits_for_what_was_taken_up_often_enough) {
  auto options = partial(12);
  options.buffer.partial_rollout_max_resumes = 2;
  Circle circle(options);
  ASSERT_TRUE(circle.run()) << circle.head().describe();
  (void)trained_once(circle);
  for (const auto& engine : circle.token_engines) {
    for (const auto& lease : engine->leases) EXPECT_LE(lease.history.size(), 2U);
  }
  // Group 5 needs far more steps than that if nobody waits for it.
  const auto third = group_ids(circle.batch(2));
  EXPECT_TRUE(std::ranges::binary_search(third, 5));
}

TEST(OverSampling, no_token_is_older_than_it_may_be) {
  for (const std::int64_t age : {1, 3}) {
    auto options = partial(15);
    options.buffer.partial_rollout_max_age = age;
    Circle circle(options);
    ASSERT_TRUE(circle.run()) << circle.head().describe();
    (void)trained_once(circle);
    std::int64_t oldest = 0;
    for (std::int64_t step = 0; step < 15; ++step) {
      for (const auto& sample : circle.batch(step))
        oldest = std::max(oldest, step - sample.oldest_version().value());
    }
    EXPECT_EQ(oldest, age);
    EXPECT_EQ(circle.counters().stale_groups, 0) << "made in vain";
  }
}

TEST(OverSampling, masks_leave_the_tokens_of_the_steps_own_version) {
  auto options = partial(10);
  options.buffer.mask_offpolicy_in_partial_rollout = true;
  const test::TemporaryDirectory directory;
  options.archive = directory / "samples";
  options.buffer.save_samples = true;
  Circle circle(options);
  ASSERT_TRUE(circle.run()) << circle.head().describe();
  (void)trained_once(circle);
  bool some = false;
  for (std::int64_t step = 0; step < 10; ++step) {
    const auto samples = circle.batch(step);
    const auto& plan = circle.trainers->batches.at(static_cast<std::size_t>(step)).front().plan;
    const auto archive =
        sample::read_samples(*options.archive / ("samples_" + std::to_string(step) + ".h5"))
            .samples;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      std::size_t place = 0;
      for (const auto& run : samples[i].versions) {
        for (std::int64_t token = 0; token < run.tokens; ++token, ++place) {
          EXPECT_EQ(samples[i].mask[place], run.version == WeightVersion(step) ? 1 : 0);
          some = some || samples[i].mask[place] == 0;
        }
      }
      EXPECT_EQ(plan.samples[i].trained_tokens, samples[i].trained_tokens());
      EXPECT_EQ(archive[i].mask, samples[i].mask);
    }
  }
  EXPECT_TRUE(some);
}

TEST(OverSampling, metrics_say_what_happened) {
  Circle circle(partial());
  ASSERT_TRUE(circle.run());
  const auto& metrics = circle.taken_metrics.at(5);
  EXPECT_GT(metrics.at("rollout/over_sampling/resumed_groups"), 0);
  EXPECT_GT(metrics.at("rollout/over_sampling/aborted_groups"), 0);
  EXPECT_GT(metrics.at("rollout/over_sampling/reused_tokens"), 0);
  EXPECT_EQ(metrics.at("rollout/over_sampling/discarded_groups"), 0);
  EXPECT_GT(metrics.at("rollout/over_sampling/offpolicy_token_ratio"), 0);
  EXPECT_LT(metrics.at("rollout/over_sampling/offpolicy_token_ratio"), 1);
  Circle plain(small_circle());
  ASSERT_TRUE(plain.run());
  EXPECT_FALSE(plain.taken_metrics.at(3).contains("rollout/over_sampling/resumed_groups"));
}

TEST(OverSampling, without_trainers_unfinished_groups_go_on_at_once) {
  auto options = partial();
  options.trainers = 0;
  const test::TemporaryDirectory directory;
  options.archive = directory / "samples";
  options.buffer.save_samples = true;
  Circle circle(options);
  ASSERT_TRUE(circle.run()) << circle.head().describe();
  std::set<std::int64_t> seen;
  for (std::int64_t step = 0; step < 6; ++step) {
    const auto file =
        sample::read_samples(*options.archive / ("samples_" + std::to_string(step) + ".h5"));
    EXPECT_EQ(file.samples.size(), 8U);
    for (const auto& sample : file.samples) {
      expect_whole(sample, *options.script);
      EXPECT_TRUE(seen.insert(sample.id.value()).second);
    }
  }
}

/// Groups whose number is 0 or 1 modulo 4 have rewards that differ.
double mixed_reward(base::SampleId id) {
  return id.value() / 2 % 4 < 2 ? static_cast<double>(id.value() % 2) : 1.0;
}

CircleOptions filtering(DynamicFilter filter) {
  auto options = over_sampling();
  options.buffer.over_sampling_batch_size.reset();
  options.buffer.dynamic_sampling_filter = filter;
  options.script->length = [](base::SampleId id) { return 2 + id.value() / 2 % 5; };
  options.script->reward = mixed_reward;
  return options;
}

TEST(DynamicSampling, groups_whose_rewards_are_alike_are_replaced) {
  Circle circle(filtering(DynamicFilter::check_reward_nonzero_std));
  ASSERT_TRUE(circle.run()) << circle.head().describe();
  for (const auto& [id, sample] : trained_once(circle)) EXPECT_LT(sample.group.value() % 4, 2);
  EXPECT_GT(circle.counters().filtered_groups, 6 * 2);
  EXPECT_GT(circle.taken_metrics.at(1).at("rollout/dynamic_filter/drop_zero_std_1"), 0);
  EXPECT_EQ(circle.counters().malformed_messages, 0);
}

TEST(DynamicSampling, with_fallback_no_group_is_drawn_in_place_of_another) {
  Circle circle(filtering(DynamicFilter::check_reward_nonzero_std_with_fallback));
  ASSERT_TRUE(circle.run()) << circle.head().describe();
  EXPECT_EQ(circle.counters().filtered_groups, 0) << "a draw is just what a step takes";
  auto options = filtering(DynamicFilter::check_reward_nonzero_std_with_fallback);
  options.buffer.over_sampling_batch_size = 6;
  Circle more(options);
  ASSERT_TRUE(more.run()) << more.head().describe();
  (void)trained_once(more);
  EXPECT_GT(more.counters().filtered_groups, 0);
  for (const auto& [step, metrics] : more.taken_metrics) {
    const auto dropped = metrics.find("rollout/dynamic_filter/drop_zero_std_1");
    const double count = dropped == metrics.end() ? 0 : dropped->second;
    EXPECT_LE(count, 2) << "step " << step;
  }
}

TEST(DynamicSampling, works_together_with_partial_rollout) {
  auto options = filtering(DynamicFilter::check_reward_nonzero_std);
  options.buffer.partial_rollout = true;
  options.script->length = mixed_length;
  options.num_rollout = 10;
  Circle circle(options);
  ASSERT_TRUE(circle.run()) << circle.head().describe();
  for (const auto& [id, sample] : trained_once(circle)) EXPECT_LT(sample.group.value() % 4, 2);
  EXPECT_GT(circle.counters().resumed_groups, 0);
}

TEST(DynamicSampling, a_filter_that_wants_nothing_ends_the_run) {
  auto options = filtering(DynamicFilter::check_reward_nonzero_std);
  options.script->reward = [](base::SampleId) { return 0.0; };
  Circle circle(options);
  try {
    (void)circle.run();
    FAIL() << "it went on";
  } catch (const base::WorldError& error) {
    EXPECT_NE(std::string(error.what()).find("step 0 has dropped"), std::string::npos);
  }
}

}  // namespace
}  // namespace physarum::buffer
