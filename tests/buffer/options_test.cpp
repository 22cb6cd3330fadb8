#include "physarum/buffer/options.hpp"

#include <functional>

#include <gtest/gtest.h>

#include "physarum/base/error.hpp"

namespace physarum::buffer {
namespace {

BufferOptions valid() {
  BufferOptions options;
  options.num_rollout = 10;
  options.rollout_batch_size = 8;
  options.n_samples_per_prompt = 4;
  return options;
}

TEST(BufferOptions, the_batch_equation_gives_what_is_left_out) {
  auto options = valid();
  EXPECT_EQ(options.steps_per_rollout(), 1);
  EXPECT_EQ(options.samples_per_step(), 32);
  options.global_batch_size = 16;
  EXPECT_EQ(options.steps_per_rollout(), 2);
  EXPECT_EQ(options.samples_per_step(), 16);
  options.global_batch_size.reset();
  options.num_steps_per_rollout = 4;
  EXPECT_EQ(options.samples_per_step(), 8);
  EXPECT_NO_THROW(options.validate());
}

TEST(BufferOptions, contradictions_are_the_users_error) {
  const std::function<void(BufferOptions&)> breaks[] = {
      [](BufferOptions& o) { o.num_rollout.reset(); },
      [](BufferOptions& o) { o.global_batch_size = 12; },
      [](BufferOptions& o) { o.num_steps_per_rollout = 3; },
      [](BufferOptions& o) {
        o.global_batch_size = 16;
        o.num_steps_per_rollout = 1;
      },
      [](BufferOptions& o) { o.use_dynamic_batch_size = true; },
      [](BufferOptions& o) { o.max_tokens_per_gpu = 100; },
      [](BufferOptions& o) { o.max_weight_staleness = 1; },
      [](BufferOptions& o) {
        o.mode = Mode::one_step_async;
        o.max_weight_staleness = 2;
      },
      [](BufferOptions& o) { o.over_sampling_batch_size = 7; },
      [](BufferOptions& o) { o.partial_rollout = true; },
      [](BufferOptions& o) {
        o.partial_rollout = true;
        o.over_sampling_batch_size = 8;  // no surplus
      },
      [](BufferOptions& o) { o.mask_offpolicy_in_partial_rollout = true; },
      [](BufferOptions& o) { o.partial_rollout_max_age = 2; },
      [](BufferOptions& o) { o.partial_rollout_max_resumes = 2; },
      [](BufferOptions& o) {
        o.mode = Mode::async;
        o.over_sampling_batch_size = 16;
      },
      [](BufferOptions& o) {
        o.mode = Mode::one_step_async;
        o.dynamic_sampling_filter = DynamicFilter::check_reward_nonzero_std;
      },
      [](BufferOptions& o) {
        o.n_samples_per_prompt = 1;
        o.dynamic_sampling_filter = DynamicFilter::check_reward_nonzero_std;
      },
  };
  int number = 0;
  for (const auto& break_it : breaks) {
    auto options = valid();
    break_it(options);
    EXPECT_THROW(options.validate(), base::UserError) << "break " << number++;
  }
}

TEST(BufferOptions, every_data_parallel_rank_needs_a_sample) {
  auto options = valid();
  options.num_steps_per_rollout = 16;
  EXPECT_NO_THROW(options.validate_for(2));
  EXPECT_THROW(options.validate_for(3), base::UserError);
}

TEST(BufferOptions, staleness_follows_from_the_mode) {
  auto options = valid();
  EXPECT_EQ(options.staleness(), 0);
  options.mode = Mode::colocate;
  EXPECT_EQ(options.staleness(), 0);
  options.mode = Mode::one_step_async;
  EXPECT_EQ(options.staleness(), 1);
  EXPECT_TRUE(options.takes_before_publishing());
  options.max_weight_staleness = 0;
  EXPECT_FALSE(options.takes_before_publishing());
  options.mode = Mode::async;
  options.max_weight_staleness = 5;
  EXPECT_EQ(options.staleness(), 5);
}

TEST(BufferOptions, epochs_become_rollout_steps) {
  auto options = valid();
  EXPECT_EQ(options.rollout_steps(100), 10);
  options.num_rollout.reset();
  options.num_epoch = 3;
  EXPECT_EQ(options.rollout_steps(100), 3 * 100 / 8);
  EXPECT_THROW((void)options.rollout_steps(std::int64_t{1} << 60), base::UserError);
}

TEST(BufferOptions, the_buffer_holds_at_least_a_batch) {
  auto options = valid();
  EXPECT_EQ(options.capacity_groups(), 16);
  options.async_data_buffer_capacity_factor = 1;
  EXPECT_EQ(options.capacity_groups(), 8);
  options.over_sampling_batch_size = 20;
  EXPECT_EQ(options.capacity_groups(), 28);
}

TEST(BufferOptions, over_sampling_is_off_unless_it_is_asked_for) {
  auto options = valid();
  EXPECT_FALSE(options.over_samples());
  options.over_sampling_batch_size = 16;
  EXPECT_TRUE(options.over_samples());
  options.partial_rollout = true;
  options.mask_offpolicy_in_partial_rollout = true;
  options.partial_rollout_max_age = 1;
  options.partial_rollout_max_resumes = 3;
  EXPECT_NO_THROW(options.validate());
  options.mode = Mode::colocate;
  EXPECT_NO_THROW(options.validate());
  EXPECT_EQ(options.most_age(), 1);
  EXPECT_EQ(options.most_resumes(), 3);
}

TEST(BufferOptions, flags_reach_their_fields) {
  BufferOptions options;
  base::OptionTable table;
  declare_options(table, options);
  const auto rest = base::read_arguments({"--mode",
                                          "async",
                                          "--max-weight-staleness",
                                          "3",
                                          "--rollout-batch-size=16",
                                          "--use-dynamic-batch-size",
                                          "--max-tokens-per-gpu",
                                          "512",
                                          "--num-rollout",
                                          "7",
                                          "--no-save-samples",
                                          "--lease-deadline",
                                          "12.5",
                                          "--over-sampling-batch-size",
                                          "24",
                                          "--partial-rollout",
                                          "--mask-offpolicy-in-partial-rollout",
                                          "--partial-rollout-max-age",
                                          "3",
                                          "--partial-rollout-max-resumes",
                                          "4",
                                          "--dynamic-sampling-filter",
                                          "check_reward_nonzero_std_with_fallback"},
                                         table);
  EXPECT_TRUE(rest.empty());
  EXPECT_EQ(options.mode, Mode::async);
  EXPECT_EQ(options.staleness(), 3);
  EXPECT_EQ(options.rollout_batch_size, 16);
  EXPECT_EQ(options.micro_batch_rule().packing, sample::Packing::by_tokens);
  EXPECT_EQ(options.micro_batch_rule().max_tokens, 512);
  EXPECT_EQ(options.num_rollout, 7);
  EXPECT_FALSE(options.save_samples);
  EXPECT_EQ(options.lease_deadline_s, 12.5);
  EXPECT_EQ(options.groups_per_draw(), 24);
  EXPECT_TRUE(options.partial_rollout);
  EXPECT_TRUE(options.mask_offpolicy_in_partial_rollout);
  EXPECT_EQ(options.most_age(), 3);
  EXPECT_EQ(options.most_resumes(), 4);
  EXPECT_EQ(options.dynamic_sampling_filter, DynamicFilter::check_reward_nonzero_std_with_fallback);
}

}  // namespace
}  // namespace physarum::buffer
