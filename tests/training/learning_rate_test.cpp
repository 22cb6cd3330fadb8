#include "learning_rate.hpp"

#include <gtest/gtest.h>

#include "training/golden.hpp"

namespace physarum::training {
namespace {

OptimiserOptions schedule(DecayStyle style) {
  OptimiserOptions options;
  options.lr = 0.01;
  options.lr_decay_style = style;
  return options;
}

DecayStyle style_of(const std::string& name) {
  if (name == "linear") return DecayStyle::linear;
  return name == "cosine" ? DecayStyle::cosine : DecayStyle::constant;
}

TEST(LearningRate, agrees_with_the_schedules_of_transformers) {
  for (const auto& golden : test::read_golden("schedules.json")) {
    OptimiserOptions options = schedule(style_of(golden["style"]));
    options.lr_warmup_iters = golden["warmup"];
    options.min_lr = golden["min_lr"];
    const LearningRate rate(options, 20);
    std::int64_t step = 0;
    for (const double expected : golden["rates"]) {
      EXPECT_NEAR(rate.at(step), expected, 1e-15) << golden["style"] << " step " << step;
      ++step;
    }
  }
}

TEST(LearningRate, stays_at_its_minimum_after_the_decay) {
  OptimiserOptions options = schedule(DecayStyle::cosine);
  options.min_lr = 0.002;
  options.lr_decay_iters = 5;
  const LearningRate rate(options, 100);
  EXPECT_NEAR(rate.at(5), 0.002, 1e-15);
  EXPECT_EQ(rate.at(50), 0.002);
}

TEST(LearningRate, takes_the_warm_up_as_a_share_and_from_a_start) {
  OptimiserOptions options = schedule(DecayStyle::linear);
  options.lr_warmup_fraction = 0.25;
  options.lr_warmup_init = 0.002;
  const LearningRate rate(options, 40);
  EXPECT_EQ(rate.at(0), 0.002);
  EXPECT_NEAR(rate.at(5), 0.006, 1e-15);
  EXPECT_NEAR(rate.at(10), 0.01, 1e-15);
  EXPECT_NEAR(rate.at(25), 0.005, 1e-15);
}

TEST(LearningRate, of_a_run_shorter_than_its_warm_up_rises_to_the_end) {
  OptimiserOptions options = schedule(DecayStyle::linear);
  options.lr_warmup_iters = 20;
  const LearningRate rate(options, 4);
  EXPECT_NEAR(rate.at(3), 0.0015, 1e-15);
}

}  // namespace
}  // namespace physarum::training
