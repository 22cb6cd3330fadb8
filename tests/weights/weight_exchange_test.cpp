#include "physarum/weights/weight_exchange.hpp"

#include <gtest/gtest.h>

#include "physarum/parallel/wait.hpp"

#include "exchange_fixture.hpp"

namespace physarum::weights {
namespace {

using test::Circle;
using test::each_layout;
using test::usual_density;

WeightOptions options_of(UpdateMode mode, TransferType type, WeightCarrier carrier) {
  WeightOptions options;
  options.mode = mode;
  options.transfer_type = type;
  options.carrier = carrier;
  return options;
}

/// Publishes `first` … `last` without engines looking, then every engine pulls the newest.
void publish_then_pull(Circle& circle, std::int64_t first, std::int64_t last) {
  for (std::int64_t version = first; version <= last; ++version) circle.publish(version);
  circle.meet();
  circle.pull_and_check(last);
  circle.meet();
}

class WeightExchangeBy : public testing::TestWithParam<WeightCarrier> {};

TEST_P(WeightExchangeBy, engines_get_what_trainers_publish) {
  each_layout([](const test::Shape& shape) {
    for (const UpdateMode mode : {UpdateMode::full, UpdateMode::delta}) {
      for (const TransferType type : {TransferType::bf16, TransferType::f32}) {
        Circle circle(shape, options_of(mode, type, GetParam()), usual_density);
        publish_then_pull(circle, 0, 0);
        publish_then_pull(circle, 1, 1);
        publish_then_pull(circle, 2, 4);   // a chain
        publish_then_pull(circle, 5, 14);  // too far behind
        circle.close();
      }
    }
  });
}

TEST_P(WeightExchangeBy, a_version_can_be_asked_for_as_soon_as_it_is_published) {
  each_layout([](const test::Shape& shape) {
    Circle circle(shape, options_of(UpdateMode::delta, TransferType::bf16, GetParam()),
                  usual_density);
    for (std::int64_t version = 0; version < 10; ++version) {
      circle.publish(version);
      (void)test::world().agree(true);  // engines hear of it as they do of a lease
      circle.pull_exactly(version);
      circle.meet();
    }
    circle.close();
  });
}

INSTANTIATE_TEST_SUITE_P(Carriers, WeightExchangeBy, test::every_carrier, test::carrier_name);

TEST(WeightExchange, roles_get_their_ends) {
  each_layout([](const test::Shape& shape) {
    Circle circle(shape, {}, usual_density);
    EXPECT_EQ(circle.exchange().store() != nullptr, circle.layout().is_buffer());
    EXPECT_EQ(circle.exchange().publisher() != nullptr, circle.layout().is_trainer());
    EXPECT_EQ(circle.exchange().puller() != nullptr, circle.layout().is_rollout());
    circle.close();
  });
}

TEST(WeightExchange, trainers_share_the_image) {
  each_layout([](const test::Shape& shape) {
    Circle circle(shape, {}, usual_density);
    std::int64_t mine = 0;
    if (Publisher* publisher = circle.exchange().publisher()) {
      mine = publisher->my_bytes().size();
      EXPECT_EQ(publisher->my_elements().size() * 2, mine);
    }
    const std::int64_t all = test::world().all_reduce_value<std::int64_t>(mine, parallel::Op::sum);
    EXPECT_EQ(all, circle.catalogue()->total_bytes());
    circle.close();
  });
}

TEST(WeightExchange, ranks_with_another_catalogue_are_refused_on_all_ranks) {
  if (test::world().size() == 1) return;
  parallel::Layout layout(test::world(), test::plan_of({.colocate = true}));
  const bool odd = test::world().rank() == 1;
  auto catalogue = make_catalogue({{"a", {odd ? 10 : 11}}}, TransferType::bf16);
  EXPECT_THROW(
      (void)WeightExchange::make(members_of(layout), catalogue, {}, physarum::test::soon()),
      base::WorldError);
  layout.close();
}

}  // namespace
}  // namespace physarum::weights
