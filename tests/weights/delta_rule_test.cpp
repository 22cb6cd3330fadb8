#include "delta_rule.hpp"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "memory_store.hpp"

namespace physarum::weights {
namespace {

constexpr std::int64_t rule_elements = 134'500'000;

/// A rule whose full image came over a link of so many Gb/s.
DeltaRule rule_on_link(double gigabits_per_s) {
  DeltaRule rule(rule_elements, rule_elements, TransferType::bf16);
  rule.full_was_put(static_cast<double>(rule_elements) * 16 / (gigabits_per_s * 1e9));
  return rule;
}

TEST(DeltaRule, knows_nothing_before_the_first_full_image_and_takes_the_delta) {
  const DeltaRule rule(1000, 1000, TransferType::bf16);
  EXPECT_TRUE(rule.delta_pays(1.0));
}

TEST(DeltaRule, takes_the_delta_on_slow_links_and_the_full_image_on_fast_ones) {
  struct Case {
    double gigabits_per_s;
    double pays_at;
    double not_at;
  };
  for (const Case& wanted :
       {Case{1, 0.5, 2.0}, Case{10, 0.25, 0.4}, Case{50, 0.03, 0.1}, Case{100, 0.005, 0.05}}) {
    const DeltaRule rule = rule_on_link(wanted.gigabits_per_s);
    EXPECT_TRUE(rule.delta_pays(wanted.pays_at)) << wanted.gigabits_per_s;
    EXPECT_FALSE(rule.delta_pays(wanted.not_at)) << wanted.gigabits_per_s;
  }
  EXPECT_TRUE(rule_on_link(1000).delta_pays(0));
  EXPECT_FALSE(rule_on_link(1000).delta_pays(0.02));
}

TEST(DeltaRule, learns_that_this_processor_is_slow_and_forgets_it_in_time) {
  DeltaRule rule = rule_on_link(10);
  const double usual_s = 0.08;  // of 10 % on the machine of the constants
  for (int i = 0; i < 5; ++i) rule.delta_was_encoded(0.1, 5 * usual_s);
  EXPECT_FALSE(rule.delta_pays(0.1));
  EXPECT_TRUE(rule.delta_pays(0.001));
  for (int i = 0; i < 20; ++i) {
    rule.full_was_put(static_cast<double>(rule_elements) * 16 / 10e9);
  }
  EXPECT_TRUE(rule.delta_pays(0.1));
}

TEST(DeltaRule, a_rank_without_a_share_has_no_objection) {
  DeltaRule rule(0, 1000, TransferType::bf16);
  rule.full_was_put(1e-9);
  rule.delta_was_encoded(0, 1);
  EXPECT_TRUE(rule.delta_pays(1.0));
}

TEST(DeltaRule, a_sample_tells_how_much_has_changed) {
  for (const TransferType type : {TransferType::bf16, TransferType::f32}) {
    const auto catalogue = test::small_catalogue(type, 20'000);
    for (const double density : {0.0, 0.01, 0.2}) {
      test::EvolvingWeights weights(catalogue, density);
      const Image before = weights.image();
      weights.advance_to(1);
      EXPECT_NEAR(sampled_density(before.bytes(), weights.flat(), type), density,
                  0.001 + density * 0.2);
    }
  }
  EXPECT_EQ(sampled_density({}, {}, TransferType::bf16), 0);
}

TEST(DeltaRule, a_publisher_with_a_slow_way_takes_the_delta) {
  test::MemoryStore store(test::options_of(UpdateMode::automatic, TransferType::bf16), 1, 0.05);
  store.trainer_access.at_flush = [] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  };
  EXPECT_EQ(store.publish(0).kind, PublishResult::Kind::full);
  EXPECT_EQ(store.publish(1).kind, PublishResult::Kind::delta);
}

TEST(DeltaRule, a_publisher_with_a_fast_way_takes_the_full_image_where_that_is_faster) {
  bool seen = false;  // whether a put of microseconds was interrupted is not ours to say
  for (int attempt = 0; attempt < 20 && !seen; ++attempt) {
    test::MemoryStore store(test::options_of(UpdateMode::automatic, TransferType::bf16), 1, 0.1);
    store.publish(0);
    const auto published = store.publish(1);
    seen = published.kind == PublishResult::Kind::full;
    Image image(store.catalogue);
    store.pull(image);
    EXPECT_TRUE(store.same_as(1, image, 0.1));
  }
  EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace physarum::weights
