#include "digest.hpp"

#include <set>

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"

namespace physarum::storage {
namespace {

base::Bytes counting(std::size_t count) {
  base::Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i % 251);
  return bytes;
}

TEST(Digest, is_the_same_alone_and_shared) {
  const parallel::Communicator alone;
  for (const std::size_t count : {0u, 1u, 4095u, 4096u, 4097u, 50'000u}) {
    const auto bytes = counting(count);
    EXPECT_EQ(digest_whole(bytes), digest_shares({0, bytes}, count, alone));
  }
}

TEST(Digest, sees_length_order_and_every_byte) {
  std::set<std::string> seen;
  auto bytes = counting(9000);
  seen.insert(digest_whole(bytes));
  bytes.push_back(std::byte{0});
  seen.insert(digest_whole(bytes));
  std::swap_ranges(bytes.begin(), bytes.begin() + 4096, bytes.begin() + 4096);  // whole blocks
  seen.insert(digest_whole(bytes));
  bytes[8999] ^= std::byte{1};
  seen.insert(digest_whole(bytes));
  EXPECT_EQ(seen.size(), 4u);
}

TEST(Digest, never_changes_from_version_to_version) {
  // Files carry it: this text is a part of the format.
  EXPECT_EQ(digest_whole(counting(10'000)), "xxh3-4k:b7882fa4c0b4b24cb16e8bfd42fa8812");
}

TEST(Digest, refuses_shares_that_do_not_cover) {
  const parallel::Communicator alone;
  EXPECT_THROW((void)digest_shares({0, counting(10)}, 11, alone), base::ContractViolation);
  EXPECT_THROW((void)digest_shares({1, counting(10)}, 10, alone), base::ContractViolation);
}

}  // namespace
}  // namespace physarum::storage
