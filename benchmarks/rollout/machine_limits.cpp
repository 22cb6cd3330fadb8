// What the machine can do at most, with so many threads: bytes read from memory, and matrix
// products by our own kernels. Prints one JSON object.
//
//   machine_limits THREADS
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "physarum/model/aligned_buffer.hpp"
#include "physarum/model/gemm.hpp"

namespace physarum::model {
namespace {

/// Seconds of the fastest of `rounds` in which all threads work at the same time.
double fastest(int threads, int rounds, const std::function<void(int)>& work) {
  double best = 1e9;
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::thread> others;
    const auto begin = std::chrono::steady_clock::now();
    for (int t = 1; t < threads; ++t) others.emplace_back(work, t);
    work(0);
    for (auto& other : others) other.join();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    best = std::min(best, seconds.count());
  }
  return best;
}

/// Bytes a second of one read of memory that no cache holds.
double read_rate(int threads) {
  constexpr std::int64_t floats_each = 1 << 28;
  std::vector<AlignedBuffer> buffers;
  for (int t = 0; t < threads; ++t) buffers.emplace_back(floats_each);
  std::atomic<std::int64_t> sink{0};
  const double seconds = fastest(threads, 7, [&](int t) {
    const auto* at =
        reinterpret_cast<const std::int32_t*>(buffers[static_cast<std::size_t>(t)].data());
    // A value of every cache line is enough to have the line brought.
    std::int64_t sums[4] = {0, 0, 0, 0};
    for (std::int64_t i = 0; i < floats_each; i += 64) {
      for (std::int64_t line = 0; line < 4; ++line) sums[line] += at[i + 16 * line];
    }
    sink += sums[0] + sums[1] + sums[2] + sums[3];
  });
  return 4.0 * static_cast<double>(floats_each) * threads / seconds;
}

double product_rate(int threads) {
  constexpr std::int64_t size = 1024;
  struct Product {
    AlignedBuffer x{size * size};
    AlignedBuffer y{size * size};
    PackedMatrix w{size, size};
  };
  std::vector<Product> products(static_cast<std::size_t>(threads));
  const double seconds = fastest(threads, 30, [&](int t) {
    auto& product = products[static_cast<std::size_t>(t)];
    multiply_packed({product.x.data(), size, size}, product.w, {product.y.data(), size});
  });
  return 2.0 * static_cast<double>(size * size * size) * threads / seconds;
}

}  // namespace
}  // namespace physarum::model

int main(int count, char** arguments) {
  const int threads = count == 2 ? std::atoi(arguments[1]) : 0;
  if (threads < 1) {
    std::fprintf(stderr, "usage: %s THREADS\n", arguments[0]);
    return 2;
  }
  std::printf(
      "{\"engine\": \"machine\", \"what\": \"limits\", \"read_gb_per_s\": %.3f, "
      "\"product_gflops\": %.3f}\n",
      1e-9 * physarum::model::read_rate(threads), 1e-9 * physarum::model::product_rate(threads));
  return 0;
}
