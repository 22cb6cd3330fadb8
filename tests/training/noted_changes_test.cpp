// What the optimiser notes while it changes weights.
#include <limits>

#include <gtest/gtest.h>

#include "physarum/weights/convert.hpp"
#include "physarum/weights/delta_codec.hpp"

#include "training/synthetic.hpp"

namespace physarum::training {
namespace {

using weights::ChangeLog;
using weights::TransferType;

class OptimiserNotes : public testing::TestWithParam<TransferType> {
 protected:
  OptimiserNotes() {
    setup.transfer_type = GetParam();
    setup.changes = &log;
  }
  [[nodiscard]] base::Bytes image_of(std::span<const float> values) const {
    base::Bytes image(values.size() * static_cast<std::size_t>(element_bytes(GetParam())));
    to_transfer(values, GetParam(), image);
    return image;
  }
  [[nodiscard]] base::Bytes noted_frames(const Trainer& trainer) const {
    base::Bytes frames;
    EXPECT_TRUE(weights::DeltaEncoder(GetParam())
                    .encode_noted(log.notes(), trainer.values(), 0, step, 1 << 30, frames));
    return frames;
  }
  [[nodiscard]] base::Bytes compared_frames(const base::Bytes& before, const base::Bytes& after) {
    base::Bytes frames;
    EXPECT_TRUE(weights::DeltaEncoder(GetParam()).encode(before, after, 0, step, 1 << 30, frames));
    return frames;
  }
  const weights::DeltaStep step{base::WeightVersion(0), base::WeightVersion(1)};
  const parallel::Communicator alone;
  TrainerSetup setup = test::tiny_setup();
  ChangeLog log{GetParam(), {0, static_cast<std::int64_t>(test::tiny_weights().size())}};
};

TEST_P(OptimiserNotes, all_changes_since_the_log_was_opened) {
  setup.options.optimiser.lr = 1e-4;  // so that in bf16 some weights stay what they were
  Trainer trainer(setup, test::tiny_weights(), alone);
  const test::SyntheticBatches batches{.steps_per_rollout = 2};
  for (int opened = 0; opened < 2; ++opened) {
    log.open();
    const auto before = image_of(trainer.values());
    for (int i = 0; i < 3; ++i) {
      trainer.step(batches.batch(3 * opened + i, 1, 0));
      const auto after = image_of(trainer.values());
      ASSERT_NE(before, after);
      EXPECT_EQ(noted_frames(trainer), compared_frames(before, after));
    }
  }
}

TEST_P(OptimiserNotes, and_makes_the_same_bits_as_without) {
  Trainer noted(setup, test::tiny_weights(), alone);
  log.open();
  setup.changes = nullptr;
  Trainer other(setup, test::tiny_weights(), alone);
  const test::SyntheticBatches batches;
  for (int i = 0; i < 2; ++i) {
    noted.step(batches.batch(i, 1, 0));
    other.step(batches.batch(i, 1, 0));
  }
  EXPECT_EQ(noted.state_checksum(), other.state_checksum());
  EXPECT_GT(log.density(noted.values()), 0);
}

TEST_P(OptimiserNotes, nothing_of_a_skipped_step) {
  auto weights = test::tiny_weights();
  weights.front() = std::numeric_limits<float>::quiet_NaN();
  Trainer trainer(setup, weights, alone);
  log.open();
  const auto metrics = trainer.step(test::SyntheticBatches{}.batch(0, 1, 0));
  ASSERT_EQ(metrics.scalars.at("train/skipped_steps"), 1);
  EXPECT_EQ(log.density(trainer.values()), 0);
}

INSTANTIATE_TEST_SUITE_P(Types, OptimiserNotes,
                         testing::Values(TransferType::bf16, TransferType::f32));

}  // namespace
}  // namespace physarum::training
