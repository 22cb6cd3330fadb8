#include "delta_rule.hpp"

#include <algorithm>
#include <array>
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

/// Milliseconds from the call of publish to the verified image of 269 MB, by the clock
/// (`transfer_figures rates`). A copy in memory is as fast as a link of 53 Gb/s.
struct MeasuredRow {
  double gigabits_per_s;
  double full_ms;
  std::array<double, 6> delta_ms;
};
constexpr std::array measured_densities = {0.001, 0.01, 0.05, 0.1, 0.25, 0.5};
constexpr std::array measured_rows = {MeasuredRow{1, 4324, {46, 93, 243, 424, 1030, 1683}},
                                      MeasuredRow{10, 462, {24, 52, 181, 322, 712, 1421}},
                                      MeasuredRow{53, 67, {24, 52, 150, 279, 690, 1393}}};

TEST(DeltaRule, knows_nothing_before_the_first_full_image_and_takes_the_delta) {
  const DeltaRule rule(1000, 1000, TransferType::bf16);
  EXPECT_TRUE(rule.delta_pays(1.0));
}

TEST(DeltaRule, takes_what_was_measured_to_be_faster) {
  for (const MeasuredRow& row : measured_rows) {
    for (std::size_t i = 0; i < measured_densities.size(); ++i) {
      const bool delta = rule_on_link(row.gigabits_per_s).delta_pays(measured_densities[i]);
      const double taken_ms = delta ? row.delta_ms[i] : row.full_ms;
      EXPECT_LT(taken_ms, 1.05 * std::min(row.delta_ms[i], row.full_ms))
          << row.gigabits_per_s << " Gb/s, " << measured_densities[i];
    }
  }
  EXPECT_TRUE(rule_on_link(1000).delta_pays(0));
  EXPECT_FALSE(rule_on_link(1000).delta_pays(0.02));
}

/// A machine on which looks and changes cost so many times what the rule expects at first.
struct OtherMachine {
  double look = 1;
  double change = 1;
  [[nodiscard]] double encode_s(double density) const {
    return static_cast<double>(rule_elements) * (look * 0.01e-9 + change * density * 6e-9);
  }
  [[nodiscard]] double apply_s(double density) const {
    return static_cast<double>(rule_elements) * (look * 0.05e-9 + change * density * 5e-9);
  }
};

/// What the rule's choices cost after some versions, in the time of the better way.
double regret_on(const OtherMachine& machine, double gigabits_per_s, double density) {
  DeltaRule rule = rule_on_link(gigabits_per_s);
  const double s_per_byte = 8 / (gigabits_per_s * 1e9);
  const double put_s = 2 * static_cast<double>(rule_elements) * s_per_byte;
  const double full_s = 2 * put_s + static_cast<double>(rule_elements) * 0.24e-9;  // and rounding
  const double delta_s = machine.encode_s(density) + 2 * machine.apply_s(density) +
                         2.4 * density * static_cast<double>(rule_elements) * s_per_byte;
  double taken_s = 0;
  constexpr int beginning = 40;
  constexpr int versions = 170;
  for (int i = 0; i < beginning + versions; ++i) {
    const bool delta = rule.delta_pays(density);
    if (delta) {
      rule.delta_was_encoded(density, machine.encode_s(density));
      rule.delta_was_applied(density, machine.apply_s(density));
    } else {
      rule.full_was_put(put_s);
    }
    if (i >= beginning) taken_s += delta ? delta_s : full_s;
  }
  return taken_s / versions / std::min(delta_s, full_s);
}

TEST(DeltaRule, learns_what_looks_and_changes_cost_on_another_machine) {
  for (const OtherMachine machine : {OtherMachine{3, 3}, OtherMachine{1, 3}, OtherMachine{0.5, 0.5},
                                     OtherMachine{1, 0.4}, OtherMachine{4, 1}}) {
    for (const double gigabits_per_s : {1.0, 10.0, 53.0}) {
      for (const double density : measured_densities) {
        EXPECT_LT(regret_on(machine, gigabits_per_s, density), 1.15)
            << machine.look << " " << machine.change << ": " << gigabits_per_s << " Gb/s, "
            << density;
      }
    }
  }
}

TEST(LearntCost, knows_what_a_change_costs_after_sparse_and_dense_ones) {
  const OtherMachine machine{2, 5};
  LearntCost cost(0.01e-9, 6e-9);
  constexpr auto elements = static_cast<double>(rule_elements);
  for (int i = 0; i < 40; ++i) {
    for (const double density : {0.001, 0.3})
      cost.learn(elements, density, machine.encode_s(density));
  }
  for (const double density : measured_densities) {
    EXPECT_NEAR(cost.of(elements, density), machine.encode_s(density),
                0.03 * machine.encode_s(density));
  }
  for (int i = 0; i < 500; ++i) cost.fade();
  EXPECT_NEAR(cost.of(elements, 0.1), OtherMachine{}.encode_s(0.1), 1e-4);
}

TEST(DeltaRule, learns_that_this_processor_is_slow_and_forgets_it_in_time) {
  DeltaRule rule = rule_on_link(10);
  const double usual_s = OtherMachine{}.encode_s(0.1);
  for (int i = 0; i < 5; ++i) rule.delta_was_encoded(0.1, 5 * usual_s);
  EXPECT_FALSE(rule.delta_pays(0.1));
  EXPECT_TRUE(rule.delta_pays(0.001));
  for (int i = 0; i < 20; ++i) {
    rule.full_was_put(static_cast<double>(rule_elements) * 16 / 10e9);
  }
  EXPECT_TRUE(rule.delta_pays(0.1));
}

TEST(DeltaRule, hears_how_long_a_buffer_rank_took_to_apply) {
  DeltaRule rule = rule_on_link(10);
  ASSERT_TRUE(rule.delta_pays(0.1));
  for (int i = 0; i < 5; ++i) rule.delta_was_applied(0.1, 5 * OtherMachine{}.apply_s(0.1));
  EXPECT_FALSE(rule.delta_pays(0.1));
}

TEST(DeltaRule, a_rank_without_a_share_has_no_objection) {
  DeltaRule rule(0, 1000, TransferType::bf16);
  rule.full_was_put(1e-9);
  rule.delta_was_encoded(0, 1);
  rule.delta_was_applied(0, 0);
  EXPECT_TRUE(rule.delta_pays(1.0));
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

TEST(DeltaRule, a_buffer_rank_says_how_long_a_fold_took) {
  test::MemoryStore store(test::options_of(UpdateMode::delta, TransferType::bf16), 2, 0.05);
  store.publish(0);
  store.publish(1);
  EXPECT_EQ(store.buffer_access.load(0, StoreWords::fold_ns), 0U);
  store.fold_all();
  for (int buffer = 0; buffer < 2; ++buffer) {
    EXPECT_GT(store.buffer_access.load(buffer, StoreWords::fold_ns), 0U);
    EXPECT_LT(store.buffer_access.load(buffer, StoreWords::fold_ns), 60'000'000'000U);
  }
}

/// Folds that take for ever, as far as the words say, make a full image of what was a delta.
TEST(DeltaRule, a_publisher_learns_from_folds) {
  test::MemoryStore store(test::options_of(UpdateMode::automatic, TransferType::bf16), 1, 0.05);
  store.trainer_access.at_flush = [] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  };
  EXPECT_EQ(store.publish(0).kind, PublishResult::Kind::full);
  bool full = false;
  for (std::int64_t version = 1; version < 10 && !full; ++version) {
    full = store.publish(version).kind == PublishResult::Kind::full;
    store.fold_all();
    store.buffer_access.store(0, StoreWords::fold_ns, 60'000'000'000U);
  }
  EXPECT_TRUE(full);
}

}  // namespace
}  // namespace physarum::weights
