#include "pieces.hpp"

namespace physarum::parallel {

namespace {
std::size_t limit = std::size_t{1} << 30;
}  // namespace

std::size_t piece_limit() noexcept { return limit; }

ScopedPieceLimit::ScopedPieceLimit(std::size_t bytes) noexcept : before_(limit) { limit = bytes; }

ScopedPieceLimit::~ScopedPieceLimit() { limit = before_; }

}  // namespace physarum::parallel
