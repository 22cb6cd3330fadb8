#include <gtest/gtest.h>

#include "physarum/parallel/window.hpp"

#include "exchange_fixture.hpp"

namespace physarum::weights {
namespace {

using test::Circle;
using test::each_layout;

/// Trainers publish as fast as they can while engines pull whatever is newest; every pulled state
/// must be that of its version, bit by bit. In colocated layouts both take turns.
void race(const test::Shape& shape, const WeightOptions& options, double density,
          std::int64_t versions) {
  Circle circle(shape, options, density);
  circle.publish(0);
  circle.meet();
  std::int64_t pulls = 0;
  if (shape.colocate) {
    for (std::int64_t version = 1; version < versions; ++version) {
      circle.publish(version);
      if (version % 7 < 3) pulls += circle.pull_newest();
    }
  } else {
    for (std::int64_t version = 1; version < versions && circle.layout().is_trainer(); ++version) {
      circle.publish(version);
    }
    while (circle.layout().is_rollout() && circle.image_version() < versions - 1) {
      pulls += circle.pull_newest();
    }
  }
  EXPECT_EQ(pulls > 0, circle.layout().is_rollout());
  circle.meet();
  circle.pull_and_check(versions - 1);
  circle.close();
}

/// `part`: a part of the versions.
void race_in_all_ways(WeightCarrier carrier, std::int64_t part) {
  each_layout([&](const test::Shape& shape) {
    WeightOptions options;
    options.carrier = carrier;
    options.mode = UpdateMode::delta;
    race(shape, options, 0.01, 300 / part);
    options.delta_ring = 1;
    race(shape, options, 0.001, 100 / part);
    options.mode = UpdateMode::full;
    race(shape, options, 0.01, 150 / part);
  });
}

class RacingReader : public testing::TestWithParam<WeightCarrier> {};

TEST_P(RacingReader, every_pulled_state_is_one_that_was_published) {
  test::allow_test_s(400);
  race_in_all_ways(GetParam(), GetParam() == WeightCarrier::file ? 10 : 1);  // a disk is slow
}

TEST(RacingReaderApart, every_state_pulled_through_mpi_is_one_that_was_published) {
  test::allow_test_s(400);
  const parallel::ScopedReadsByMpi apart;
  race_in_all_ways(WeightCarrier::rma, 3);
}

INSTANTIATE_TEST_SUITE_P(Carriers, RacingReader, test::every_carrier, test::carrier_name);

}  // namespace
}  // namespace physarum::weights
