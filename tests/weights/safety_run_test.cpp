// Many random versions, engines that come and go. In CTest some hundred versions; by hand as many
// as one likes: safety_run.sh, or
//
//   --versions N  --buffers N  --trainers N  --carrier NAME  --apart yes: ranks do not look into
//   each other's memory, as between machines
#include <cstdio>
#include <optional>

#include <gtest/gtest.h>

#include "physarum/parallel/window.hpp"

#include "exchange_fixture.hpp"
#include "restless_reader.hpp"

namespace physarum::weights {
namespace {

using test::Circle;
using test::ReaderCounts;
using test::RestlessReader;

std::int64_t number(std::string_view name, std::int64_t otherwise) {
  const auto given = physarum::test::argument(name);
  return given ? std::stoll(*given) : otherwise;
}

WeightOptions options() {
  WeightOptions options;
  options.mode = UpdateMode::delta;  // wherever one is possible
  base::OptionTable table;
  declare_options(table, options);
  const std::string carrier = physarum::test::argument("--carrier").value_or("auto");
  (void)base::read_arguments({"--weight-carrier", carrier}, table);
  return options;
}

/// Bursts and pauses, so that engines now and then see every version and now and then miss many.
void publish_all(Circle& circle, std::int64_t versions) {
  std::mt19937_64 dice(7);  // the same on all trainer ranks
  for (std::int64_t version = 1; version < versions; ++version) {
    circle.publish(version);
    if (dice() % 4 != 0) continue;
    const auto end = base::Deadline::in(static_cast<double>(dice() % 20) * 1e-3);
    (void)parallel::wait_until([] { return false; }, end);
  }
}

void report(const std::vector<std::int64_t>& sums, std::int64_t versions) {
  std::printf("safety: ranks %d versions %lld", test::world().size(),
              static_cast<long long>(versions));
  for (std::size_t i = 0; i < sums.size(); ++i) {
    std::printf(" %s %lld", ReaderCounts::names[i], static_cast<long long>(sums[i]));
  }
  std::printf("\n");
}

TEST(SafetyRun, every_image_taken_into_use_is_the_version_that_it_claims) {
  const std::int64_t versions = number("--versions", 300);
  const double limit_s = 60 + 0.5 * static_cast<double>(versions);
  test::allow_test_s(limit_s);
  const test::Shape shape{static_cast<int>(number("--buffers", 1)),
                          static_cast<int>(number("--trainers", 1)), false};
  std::optional<parallel::ScopedReadsByMpi> apart;
  if (physarum::test::argument("--apart")) apart.emplace();
  const auto changes = test::random_changes(11);
  Circle circle(shape, options(), changes);
  circle.set_patience_s(limit_s * 0.9);
  circle.publish(0);
  circle.meet();
  ReaderCounts counts;
  if (circle.layout().is_trainer()) publish_all(circle, versions);
  if (circle.layout().is_rollout()) {
    RestlessReader reader(*circle.exchange().puller(), circle.catalogue(), changes,
                          static_cast<std::uint64_t>(test::world().rank()));
    const auto deadline = base::Deadline::in(limit_s * 0.9);
    while (reader.version() < versions - 1) reader.turn(deadline);
    counts = reader.counts();
    EXPECT_EQ(counts.wrong, 0);
    EXPECT_GT(counts.given_up, 0);
    EXPECT_GT(counts.fulls, 0);
  }
  circle.meet();
  const auto mine = counts.values();
  std::vector<std::int64_t> sums(mine.begin(), mine.end());
  test::world().all_reduce(std::span(sums), parallel::Op::sum);
  if (test::world().rank() == 0) report(sums, versions);
  circle.close();
}

}  // namespace
}  // namespace physarum::weights
