#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "physarum/parallel/layout.hpp"
#include "physarum/parallel/wait.hpp"

#include "physarum/weights/weight_exchange.hpp"

#include "evolving_weights.hpp"
#include "noted_publisher.hpp"
#include "support/mpi_test.hpp"
#include "support/shared_directory.hpp"

namespace physarum::weights::test {

using physarum::test::allow_test_s;
using physarum::test::world;

struct Shape {
  int buffers = 1;
  int trainers = 1;
  bool colocate = false;
};

inline parallel::RankLayout plan_of(const Shape& shape) {
  parallel::LayoutOptions options;
  options.buffer_ranks = shape.buffers;
  options.colocate = shape.colocate;
  if (!shape.colocate) options.trainer_ranks = shape.trainers;
  return parallel::RankLayout::plan(world().size(), options);
}

/// Every layout that this number of ranks allows.
inline void each_layout(const std::function<void(const Shape&)>& work) {
  std::vector<Shape> shapes = {{.colocate = true}};
  if (world().size() == 4) shapes.push_back({.buffers = 2, .colocate = true});
  for (int buffers = 1; buffers <= 2; ++buffers) {
    for (int trainers = 1; buffers + trainers < world().size() && trainers <= 2; ++trainers) {
      shapes.push_back({buffers, trainers, false});
    }
  }
  for (const Shape& shape : shapes) {
    SCOPED_TRACE(plan_of(shape).describe());
    work(shape);
  }
}

/// For parametrised tests.
inline const auto every_carrier = testing::Values(WeightCarrier::rma, WeightCarrier::messages,
                                                  WeightCarrier::broadcast, WeightCarrier::file);
inline std::string carrier_name(const testing::TestParamInfo<WeightCarrier>& info) {
  constexpr std::array names = {"auto", "rma", "messages", "broadcast", "file"};
  return names[static_cast<std::size_t>(info.param)];
}

/// One rank's part of the way of weights, with weights that follow from their version's number.
class Circle {
 public:
  Circle(const Shape& shape, const WeightOptions& options, double density)
      : Circle(shape, options, steady(density)) {}
  Circle(const Shape& shape, const WeightOptions& options, const Changes& changes)
      : layout_(world(), plan_of(shape)),
        catalogue_(small_catalogue(options.transfer_type)),
        published_(catalogue_, changes),
        expected_(catalogue_, changes),
        image_(catalogue_),
        exchange_(WeightExchange::make(members_of(layout_), catalogue_, with_directory(options),
                                       deadline())),
        hook_([this] { return exchange_.store() != nullptr && exchange_.store()->advance(); }) {
    if (layout_.is_trainer()) publisher_.emplace(*exchange_.publisher());
  }

  [[nodiscard]] parallel::Layout& layout() { return layout_; }
  [[nodiscard]] WeightExchange& exchange() { return exchange_; }
  [[nodiscard]] const CataloguePtr& catalogue() const { return catalogue_; }
  [[nodiscard]] std::int64_t image_version() const { return image_.version().value(); }

  void publish(std::int64_t version) {
    if (!layout_.is_trainer()) return;
    published_.advance_to(version);
    const auto result =
        publisher_->publish(base::WeightVersion(version), published_.flat(), deadline());
    EXPECT_EQ(result.version, base::WeightVersion(version));
    EXPECT_GT(result.wire_bytes, 0);
  }
  /// 1 if an engine got a new version; checks its bits.
  std::int64_t pull_newest() {
    if (!layout_.is_rollout()) return 0;
    const PullResult result = exchange_.puller()->pull(image_, deadline());
    EXPECT_NE(result.kind, PullResult::Kind::unavailable);
    if (result.kind == PullResult::Kind::current) return 0;
    EXPECT_EQ(result.version, image_.version());
    expected_.advance_to(image_version());
    EXPECT_EQ(image_.version(), base::WeightVersion(expected_.version()));
    EXPECT_EQ(image_.digest(), expected_.image().digest()) << "version " << image_version();
    return 1;
  }
  /// Asks for this version alone.
  void pull_exactly(std::int64_t version) {
    if (!layout_.is_rollout()) return;
    const PullResult result =
        exchange_.puller()->pull(image_, deadline(), base::WeightVersion(version));
    EXPECT_NE(result.kind, PullResult::Kind::unavailable) << "version " << version;
    EXPECT_EQ(image_version(), version);
  }
  void pull_and_check(std::int64_t version) {
    if (!layout_.is_rollout()) return;
    pull_newest();
    EXPECT_EQ(image_version(), version);
  }
  /// Buffer ranks serve while they wait here.
  void meet() { world().barrier(deadline()); }
  /// Longest wait for others; 100 s unless a test has more to do.
  void set_patience_s(double seconds) { patience_s_ = seconds; }
  void close() {
    meet();
    exchange_.close();
    layout_.close();
  }

 private:
  [[nodiscard]] WeightOptions with_directory(WeightOptions options) {
    if (options.carrier == WeightCarrier::file && options.directory.empty()) {
      options.directory = directory_.emplace(world()).path().string();
    }
    return options;
  }
  [[nodiscard]] base::Deadline deadline() const { return base::Deadline::in(patience_s_); }
  double patience_s_ = 100;
  parallel::Layout layout_;
  CataloguePtr catalogue_;
  EvolvingWeights published_;
  EvolvingWeights expected_;
  Image image_;
  std::optional<physarum::test::SharedDirectory> directory_;  // of the carrier `file`
  WeightExchange exchange_;
  std::optional<NotedPublisher> publisher_;
  parallel::ProgressHook hook_;
};

}  // namespace physarum::weights::test
