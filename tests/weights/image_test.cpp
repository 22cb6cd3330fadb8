#include "physarum/weights/image.hpp"

#include <gtest/gtest.h>

#include "evolving_weights.hpp"

namespace physarum::weights {
namespace {

TEST(Image, starts_as_zeros_without_version) {
  const Image image(test::small_catalogue(TransferType::bf16));
  EXPECT_FALSE(image.version().valid());
  for (const std::byte byte : image.bytes()) EXPECT_EQ(byte, std::byte{0});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(image.bytes().data()) % 64, 0U);
}

TEST(Image, tensor_is_its_part_of_the_flat_buffer) {
  const auto catalogue = test::small_catalogue(TransferType::f32);
  const test::EvolvingWeights weights(catalogue, 0);
  Image image = weights.image();
  const Range place = catalogue->elements(1);
  EXPECT_EQ(image.tensor(1).size(), 257U * 4U);
  EXPECT_EQ(0, std::memcmp(image.tensor(1).data(), weights.flat().data() + place.begin, 257 * 4));
  std::vector<float> back(weights.flat().size());
  image.copy_to(back);
  EXPECT_EQ(0, std::memcmp(back.data(), weights.flat().data(), back.size() * 4));
}

TEST(Image, digest_tells_one_flipped_bit_and_which_tensor_has_it) {
  const test::EvolvingWeights weights(test::small_catalogue(TransferType::bf16), 0);
  Image image = weights.image();
  image.set_version(image.version(), {{1, 2}});
  Image other(image.catalogue_ptr());
  other.copy_from(image);
  EXPECT_EQ(other.version(), image.version());
  EXPECT_EQ(other.block_digests(), image.block_digests());
  EXPECT_EQ(other.digest(), image.digest());
  other.tensor(1)[10] ^= std::byte{1};
  EXPECT_NE(other.digest(), image.digest());
  EXPECT_EQ(other.tensor_digests()[0], image.tensor_digests()[0]);
  EXPECT_NE(other.tensor_digests()[1], image.tensor_digests()[1]);
}

TEST(Image, digest_of_a_flat_buffer_is_that_of_its_image) {
  const auto catalogue = test::small_catalogue(TransferType::bf16);
  const test::EvolvingWeights weights(catalogue, 0);
  EXPECT_EQ(digest_of(catalogue, weights.flat()), weights.image().digest());
}

}  // namespace
}  // namespace physarum::weights
