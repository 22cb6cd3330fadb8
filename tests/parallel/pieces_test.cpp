#include "pieces.hpp"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace physarum::parallel {
namespace {

using Piece = std::pair<std::size_t, std::size_t>;

std::vector<Piece> cut(std::size_t total, std::size_t limit) {
  std::vector<Piece> pieces;
  for_each_piece(total, limit,
                 [&](std::size_t begin, std::size_t count) { pieces.emplace_back(begin, count); });
  return pieces;
}

TEST(Pieces, cover_everything_once) {
  EXPECT_TRUE(cut(0, 4).empty());
  EXPECT_EQ(cut(3, 4), (std::vector<Piece>{{0, 3}}));
  EXPECT_EQ(cut(4, 4), (std::vector<Piece>{{0, 4}}));
  EXPECT_EQ(cut(9, 4), (std::vector<Piece>{{0, 4}, {4, 4}, {8, 1}}));
}

TEST(Pieces, work_beyond_32_bits) {
  const std::size_t total = (std::size_t{1} << 33) + 7;
  const auto pieces = cut(total, piece_limit());
  EXPECT_EQ(pieces.size(), 9u);
  EXPECT_EQ(pieces.back(), Piece(std::size_t{1} << 33, 7));
}

TEST(Pieces, limit_is_restored) {
  const auto before = piece_limit();
  {
    const ScopedPieceLimit small(8);
    EXPECT_EQ(piece_limit(), 8u);
  }
  EXPECT_EQ(piece_limit(), before);
}

}  // namespace
}  // namespace physarum::parallel
