#include "resume_check.hpp"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "physarum/base/error.hpp"

#include "resume_rules.hpp"

namespace physarum::app {
namespace {

Configuration configured() {
  Configuration configuration;
  configuration.run.hf_checkpoint = "inputs/model-small";
  configuration.buffer.num_rollout = 10;
  return configuration;
}

std::vector<std::string> differences(const Configuration& before, const Configuration& now) {
  return configuration_differences(to_toml(before), "here", now);
}

std::vector<std::string> all_keys() {
  Configuration any;
  base::OptionTable table;
  declare_options(table, any);
  std::vector<std::string> keys;
  for (const auto& option : table.options()) keys.push_back(option.key());
  return keys;
}

constexpr std::array every_rule = {ResumeRule::free, ResumeRule::length, ResumeRule::same,
                                   ResumeRule::fixed};

TEST(ResumeRules, every_key_of_the_configuration_has_exactly_one) {
  for (const auto& key : all_keys()) {
    const auto rules = std::ranges::count_if(
        every_rule, [&](ResumeRule rule) { return std::ranges::count(keys_with(rule), key) > 0; });
    EXPECT_EQ(rules, 1) << key << ": say in resume_rules.cpp whether a resumed run may change it";
  }
}

TEST(ResumeRules, every_key_with_a_rule_exists_once) {
  const auto keys = all_keys();
  for (const ResumeRule rule : every_rule) {
    for (const auto& key : keys_with(rule)) {
      EXPECT_EQ(std::ranges::count(keys, key), 1) << key;
      EXPECT_EQ(std::ranges::count(keys_with(rule), key), 1) << key;
      EXPECT_EQ(resume_rule(key), rule) << key;
    }
  }
  EXPECT_FALSE(resume_rule("unheard_of"));
}

TEST(ResumeCheck, names_places_and_ranks_may_change) {
  auto now = configured();
  now.run.run_name = "another";
  now.layout.trainer_ranks = 4;
  now.checkpoint.save_interval = 7;
  now.buffer.eval_interval = 3;
  now.rollout.threads = 3;
  now.rollout.check_weight_update_equal = true;
  now.weights.carrier = weights::WeightCarrier::file;
  now.weights.directory = "elsewhere";
  EXPECT_TRUE(differences(configured(), now).empty());
}

TEST(ResumeCheck, what_makes_the_numbers_is_named_with_both_values) {
  auto now = configured();
  now.training.optimiser.lr = 2e-6;
  now.rollout.temperature = 0.5;
  const auto found = differences(configured(), now);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0], "rollout_temperature: 1 in the checkpoint, 0.5 now");
  EXPECT_EQ(found[1], "lr: 1e-06 in the checkpoint, 2e-06 now");
  now.checkpoint.allow_changed = {"lr", "rollout_temperature"};
  EXPECT_TRUE(differences(configured(), now).empty());
}

TEST(ResumeCheck, what_gives_groups_their_identity_stays) {
  auto now = configured();
  now.run.seed = 5;
  now.buffer.rollout_batch_size = 64;
  now.checkpoint.allow_changed = {"seed", "rollout_batch_size"};
  EXPECT_EQ(differences(configured(), now).size(), 2U);
}

TEST(ResumeCheck, a_run_may_become_longer_if_the_schedule_stays) {
  auto before = configured(), now = configured();
  now.buffer.num_rollout = 20;
  EXPECT_EQ(differences(before, now).size(), 1U);
  for (auto* configuration : {&before, &now})
    configuration->training.optimiser.lr_decay_style = training::DecayStyle::constant;
  EXPECT_TRUE(differences(before, now).empty());
}

TEST(ResumeCheck, a_configuration_of_another_program_is_refused) {
  EXPECT_THROW((void)configuration_differences("[run]\nunheard_of = 1\n", "here", configured()),
               base::UserError);
}

}  // namespace
}  // namespace physarum::app
