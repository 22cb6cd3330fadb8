#pragma once

#include <array>
#include <cstdint>

namespace physarum::base {

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11): 128 bits of
/// counter and 64 of key give 128 random bits. A pure function, so random numbers depend on what
/// they are for and never on rank count or order.
[[nodiscard]] std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                                      std::array<std::uint32_t, 2> key);

/// What a random number is for; two streams never share bits.
enum class StreamKind : std::uint32_t {
  sampling = 1,    ///< (sample id, position): the next token
  initialisation,  ///< (tensor index, element): initial weights
  shuffle,         ///< (epoch, index): order of prompts
  environment,     ///< (problem index, draw): procedural tasks
  test,
};

/// One stream of a run's seed. Copyable, stateless.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, StreamKind kind) : seed_(seed), kind_(kind) {}
  /// 64 random bits for (item, position); position < 2^32.
  [[nodiscard]] std::uint64_t bits(std::uint64_t item, std::uint32_t position) const;
  /// Uniform in [0, 1) with 53 bits.
  [[nodiscard]] double uniform(std::uint64_t item, std::uint32_t position) const;
  /// Uniform integer in [0, bound), without bias worth mentioning (64-bit multiply-shift).
  [[nodiscard]] std::uint64_t below(std::uint64_t bound, std::uint64_t item,
                                    std::uint32_t position) const;
  /// Standard normal (Box–Muller on the two halves).
  [[nodiscard]] double normal(std::uint64_t item, std::uint32_t position) const;

 private:
  [[nodiscard]] std::array<std::uint32_t, 4> draw(std::uint64_t item, std::uint32_t position) const;
  std::uint64_t seed_;
  StreamKind kind_;
};

}  // namespace physarum::base
