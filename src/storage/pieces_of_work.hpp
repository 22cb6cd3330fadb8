#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace physarum::storage {

/// Bytes of a piece of bulk data: what was just hashed is still in the cache when it is copied.
inline constexpr std::uint64_t piece_bytes = 1 << 20;

/// How many threads a rank may use while nothing else of it computes.
[[nodiscard]] inline int idle_threads() {
  return static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 2U));
}

/// A piece of the `part`-th of several byte ranges.
struct Piece {
  std::size_t part = 0;
  std::uint64_t begin = 0;  ///< within its range; a multiple of piece_bytes
  std::uint64_t bytes = 0;
};

[[nodiscard]] inline std::vector<Piece> cut(const std::vector<std::uint64_t>& sizes) {
  std::vector<Piece> pieces;
  for (std::size_t part = 0; part < sizes.size(); ++part) {
    for (std::uint64_t at = 0; at < sizes[part]; at += piece_bytes)
      pieces.push_back({part, at, std::min(piece_bytes, sizes[part] - at)});
  }
  return pieces;
}

/// Calls work(piece, thread) for every piece, on `threads` threads, about in order. The first
/// exception ends it and is thrown here.
template <class Work>
void for_pieces(const std::vector<Piece>& pieces, int threads, const Work& work) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex failing;
  const auto run = [&](int thread) {
    try {
      for (auto i = next++; i < pieces.size(); i = next++) work(pieces[i], thread);
    } catch (...) {
      next = pieces.size();
      const std::lock_guard lock(failing);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads; ++thread) others.emplace_back(run, thread);
  run(0);
  for (auto& other : others) other.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace physarum::storage
