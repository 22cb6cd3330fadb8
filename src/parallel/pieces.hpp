#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace physarum::parallel {

/// MPI counts in `int`: whatever is longer than this many bytes is cut into pieces.
[[nodiscard]] std::size_t piece_limit() noexcept;

/// Makes pieces small for as long as it lives, so that tests can cut short transfers.
class ScopedPieceLimit {
 public:
  explicit ScopedPieceLimit(std::size_t bytes) noexcept;
  ~ScopedPieceLimit();
  ScopedPieceLimit(const ScopedPieceLimit&) = delete;
  ScopedPieceLimit& operator=(const ScopedPieceLimit&) = delete;
  ScopedPieceLimit(ScopedPieceLimit&&) = delete;
  ScopedPieceLimit& operator=(ScopedPieceLimit&&) = delete;

 private:
  std::size_t before_;
};

/// Calls use(begin, count) for consecutive pieces of [0, total), each at most `limit` long. Nothing
/// is called for a total of 0.
template <class Use>
void for_each_piece(std::size_t total, std::size_t limit, Use&& use) {
  for (std::size_t begin = 0; begin < total; begin += limit) {
    use(begin, std::min(limit, total - begin));
  }
}

}  // namespace physarum::parallel
