#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "physarum/base/thread_team.hpp"

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

/// Calls take(i) for i = 0 ... count - 1 on the calling thread, and work(i) behind it on another of
/// the team; take is at most `ahead` further. So a file is read as by a plain loop (the kernel's
/// read-ahead stumbles over two readers, and whoever waits for a turn is late), while what was read
/// is hashed. The first exception ends it and is thrown here.
template <class Take, class Work>
void take_and_work(base::ThreadTeam& team, std::size_t count, std::size_t ahead, const Take& take,
                   const Work& work) {
  if (team.size() == 1 || count == 1) {
    for (std::size_t i = 0; i < count; ++i) {
      take(i);
      work(i);
    }
    return;
  }
  constexpr std::size_t ended = SIZE_MAX;
  std::atomic<std::size_t> taken{0};
  std::atomic<std::size_t> worked{0};
  // Waits until `passed` is at least `least`. False: the other side has failed.
  const auto reach = [](std::atomic<std::size_t>& passed, std::size_t least) {
    auto now = passed.load(std::memory_order_acquire);
    for (; now < least; now = passed.load(std::memory_order_acquire)) passed.wait(now);
    return now != ended;
  };
  const auto pass = [](std::atomic<std::size_t>& passed, std::size_t value) {
    passed.store(value, std::memory_order_release);
    passed.notify_one();
  };
  const auto follow = [&](std::atomic<std::size_t>& mine, std::atomic<std::size_t>& other,
                          const auto& least, const auto& step) {
    try {
      for (std::size_t i = 0; i < count && reach(other, least(i)); ++i) {
        step(i);
        pass(mine, i + 1);
      }
    } catch (...) {
      pass(mine, ended);
      throw;
    }
  };
  team.run([&](int part) {
    if (part == 0)
      follow(
          taken, worked, [=](std::size_t i) { return i < ahead ? 0 : i + 1 - ahead; }, take);
    if (part == 1)
      follow(
          worked, taken, [](std::size_t i) { return i + 1; }, work);
  });
}

}  // namespace physarum::storage
