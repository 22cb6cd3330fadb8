#include "physarum/weights/catalogue.hpp"

#include <gtest/gtest.h>

#include "physarum/base/error.hpp"

namespace physarum::weights {
namespace {

std::vector<TensorSpec> three() { return {{"a", {3, 5}}, {"b", {}}, {"c", {64}}}; }

TEST(Catalogue, places_tensors_in_order_at_64_byte_steps) {
  for (const TransferType type : {TransferType::bf16, TransferType::f32}) {
    const Catalogue catalogue(three(), type);
    EXPECT_EQ(catalogue.elements(0), (Range{0, 15}));
    EXPECT_EQ(catalogue.elements(1), (Range{32, 33}));
    EXPECT_EQ(catalogue.elements(2), (Range{64, 128}));
    EXPECT_EQ(catalogue.total_elements(), 128);
    EXPECT_EQ(catalogue.total_bytes(), 128 * element_bytes(type));
    for (std::int64_t i = 0; i < catalogue.size(); ++i) {
      EXPECT_EQ(catalogue.bytes(i).begin % 64, 0);
      EXPECT_EQ(catalogue.bytes(i).size(), catalogue.elements(i).size() * element_bytes(type));
    }
  }
}

TEST(Catalogue, finds_by_name) {
  const Catalogue catalogue(three(), TransferType::bf16);
  EXPECT_EQ(catalogue.find("b"), 1);
  EXPECT_EQ(catalogue.spec(2).name, "c");
  EXPECT_FALSE(catalogue.find("d"));
}

TEST(Catalogue, hash_tells_name_shape_order_and_type) {
  const auto hash = Catalogue(three(), TransferType::bf16).hash();
  EXPECT_EQ(Catalogue(three(), TransferType::bf16).hash(), hash);
  EXPECT_NE(Catalogue(three(), TransferType::f32).hash(), hash);
  auto specs = three();
  specs[0].shape = {5, 3};
  EXPECT_NE(Catalogue(specs, TransferType::bf16).hash(), hash);
  specs = three();
  specs[0].name = "z";
  EXPECT_NE(Catalogue(specs, TransferType::bf16).hash(), hash);
  specs = three();
  std::swap(specs[0], specs[1]);
  EXPECT_NE(Catalogue(specs, TransferType::bf16).hash(), hash);
}

TEST(Catalogue, comes_back_from_bytes) {
  const Catalogue catalogue(three(), TransferType::f32);
  const Catalogue back = Catalogue::deserialise(catalogue.serialise());
  EXPECT_EQ(back.hash(), catalogue.hash());
  EXPECT_EQ(back.specs(), catalogue.specs());
  EXPECT_EQ(back.type(), TransferType::f32);
}

TEST(Catalogue, refuses_nonsense) {
  const auto make = [](std::vector<TensorSpec> specs) {
    return Catalogue(std::move(specs), TransferType::bf16);
  };
  EXPECT_THROW(make({}), base::UserError);
  EXPECT_THROW(make({{"", {1}}}), base::UserError);
  EXPECT_THROW(make({{"a", {1}}, {"a", {1}}}), base::UserError);
  EXPECT_THROW(make({{"a", {0}}}), base::UserError);
  EXPECT_THROW(make({{"a", {-4, -4}}}), base::UserError);
  const std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_THROW(make({{"a", {huge, huge}}}), base::UserError);
  EXPECT_THROW(make({{"a", {huge, 1 << 20}}, {"b", {1}}}), base::UserError);
}

TEST(Catalogue, every_cut_and_every_flipped_byte_is_noticed_or_harmless) {
  const base::Bytes good = Catalogue(three(), TransferType::bf16).serialise();
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_THROW((void)Catalogue::deserialise(std::span(good).first(length)), base::MalformedBytes);
  }
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const unsigned flip : {1U, 0x80U, 0xffU}) {
      base::Bytes bad = good;
      bad[i] ^= static_cast<std::byte>(flip);
      try {
        const Catalogue catalogue = Catalogue::deserialise(bad);
        EXPECT_EQ(catalogue.serialise(), bad);
      } catch (const base::MalformedBytes&) {
      }
    }
  }
}

}  // namespace
}  // namespace physarum::weights
