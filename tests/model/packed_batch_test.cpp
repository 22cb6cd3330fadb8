#include "physarum/model/packed_batch.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"

#include "small_models.hpp"

namespace physarum::model {
namespace {

using Tokens = std::vector<base::TokenId>;

TEST(PackedBatch, appends_sequences_with_their_targets) {
  PackedBatch batch;
  batch.append(Tokens{1, 2, 3}, 2);
  batch.append(Tokens{4, 5}, 1);
  batch.append(Tokens{6}, 1);
  EXPECT_EQ(batch.tokens, (Tokens{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(batch.sequence_starts, (std::vector<std::int64_t>{0, 3, 5, 6}));
  EXPECT_EQ(batch.targets, (std::vector<std::int64_t>{2, 4}));
  EXPECT_EQ(batch.n_sequences(), 3);
  EXPECT_NO_THROW(batch.check(small_config()));
}

TEST(PackedBatch, has_no_target_at_a_start) {
  PackedBatch batch;
  EXPECT_THROW(batch.append(Tokens{1, 2}, 0), base::ContractViolation);
  batch.append(Tokens{1, 2}, 1);
  batch.append(Tokens{1, 2}, 1);
  batch.targets = {1, 2};
  EXPECT_THROW(batch.check(small_config()), base::ContractViolation);
  batch.targets = {0};
  EXPECT_THROW(batch.check(small_config()), base::ContractViolation);
}

TEST(PackedBatch, check_finds_what_does_not_fit) {
  const auto config = small_config();
  const auto broken = [&](auto change) {
    PackedBatch batch;
    batch.append(Tokens{1, 2, 3}, 1);
    change(batch);
    EXPECT_THROW(batch.check(config), base::ContractViolation);
  };
  broken([](PackedBatch& b) { b.tokens[1] = -1; });
  broken([](PackedBatch& b) { b.tokens[1] = 40; });
  broken([](PackedBatch& b) { b.sequence_starts.back() = 2; });
  broken([](PackedBatch& b) { b.sequence_starts = {0, 0, 3}; });
  broken([](PackedBatch& b) { b.targets = {2, 1}; });
  broken([](PackedBatch& b) { b.targets = {3}; });
  broken([](PackedBatch& b) { b.append(Tokens(300, 1), 1); });
}

}  // namespace
}  // namespace physarum::model
