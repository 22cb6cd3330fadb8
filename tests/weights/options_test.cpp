#include "physarum/weights/options.hpp"

#include <gtest/gtest.h>

namespace physarum::weights {
namespace {

TEST(WeightOptions, flags_set_their_fields) {
  WeightOptions options;
  base::OptionTable table;
  declare_options(table, options);
  const auto rest = base::read_arguments(
      {"--update-weight-mode", "full", "--update-weight-transfer-type", "f32",
       "--update-weight-delta-ring", "7", "--weight-carrier", "messages",
       "--update-weight-buffer-size", "1000000", "--update-weight-threads", "3"},
      table);
  EXPECT_TRUE(rest.empty());
  EXPECT_EQ(options.mode, UpdateMode::full);
  EXPECT_EQ(options.transfer_type, TransferType::f32);
  EXPECT_EQ(options.delta_ring, 7);
  EXPECT_EQ(options.carrier, WeightCarrier::messages);
  EXPECT_EQ(options.buffer_bytes, 1000000);
  EXPECT_EQ(options.threads, 3);
  options.validate();
}

TEST(WeightOptions, defaults_are_what_is_faster_in_bf16) {
  const WeightOptions options;
  EXPECT_EQ(options.mode, UpdateMode::automatic);
  EXPECT_EQ(options.carrier, WeightCarrier::automatic);
  EXPECT_EQ(options.transfer_type, TransferType::bf16);
  options.validate();
}

TEST(WeightOptions, refuses_a_buffer_that_is_too_small_or_too_large) {
  WeightOptions options;
  options.buffer_bytes = 65535;
  EXPECT_THROW(options.validate(), base::UserError);
  options.buffer_bytes = (std::int64_t{1} << 40) + 1;
  EXPECT_THROW(options.validate(), base::UserError);
}

TEST(WeightOptions, refuses_less_than_one_thread) {
  WeightOptions options;
  options.threads = 0;
  EXPECT_THROW(options.validate(), base::UserError);
}

TEST(WeightOptions, files_have_a_directory_and_other_carriers_have_none) {
  WeightOptions options;
  options.carrier = WeightCarrier::file;
  EXPECT_THROW(options.validate(), base::UserError);
  options.directory = "weights";
  options.validate();
  options.carrier = WeightCarrier::messages;
  EXPECT_THROW(options.validate(), base::UserError);
}

TEST(WeightOptions, refuses_a_ring_without_places) {
  WeightOptions options;
  options.delta_ring = 0;
  EXPECT_THROW(options.validate(), base::UserError);
  options.delta_ring = 65;
  EXPECT_THROW(options.validate(), base::UserError);
}

}  // namespace
}  // namespace physarum::weights
