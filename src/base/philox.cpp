#include "physarum/base/philox.hpp"

#include <cmath>
#include <numbers>

#include "physarum/base/contracts.hpp"

namespace physarum::base {

namespace {
constexpr std::uint32_t multiplier_0 = 0xD2511F53U;
constexpr std::uint32_t multiplier_1 = 0xCD9E8D57U;
constexpr std::uint32_t weyl_0 = 0x9E3779B9U;
constexpr std::uint32_t weyl_1 = 0xBB67AE85U;
}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product_0 = std::uint64_t{multiplier_0} * counter[0];
    const std::uint64_t product_1 = std::uint64_t{multiplier_1} * counter[2];
    counter = {static_cast<std::uint32_t>(product_1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product_1),
               static_cast<std::uint32_t>(product_0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product_0)};
    key[0] += weyl_0;
    key[1] += weyl_1;
  }
  return counter;
}

std::array<std::uint32_t, 4> RandomStream::draw(std::uint64_t item, std::uint32_t position) const {
  return philox4x32({static_cast<std::uint32_t>(item), static_cast<std::uint32_t>(item >> 32),
                     position, static_cast<std::uint32_t>(kind_)},
                    {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)});
}

std::uint64_t RandomStream::bits(std::uint64_t item, std::uint32_t position) const {
  const auto words = draw(item, position);
  return (std::uint64_t{words[1]} << 32) | words[0];
}

double RandomStream::uniform(std::uint64_t item, std::uint32_t position) const {
  return static_cast<double>(bits(item, position) >> 11) * 0x1.0p-53;
}

std::uint64_t RandomStream::below(std::uint64_t bound, std::uint64_t item,
                                  std::uint32_t position) const {
  expects(bound > 0, "bound must be positive");
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(bits(item, position)) * bound) >> 64);
}

double RandomStream::normal(std::uint64_t item, std::uint32_t position) const {
  const auto words = draw(item, position);
  const double u = (words[0] + 1.0) * 0x1.0p-32;  // (0, 1]: the logarithm stays finite
  const double v = words[2] * 0x1.0p-32;
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

}  // namespace physarum::base
