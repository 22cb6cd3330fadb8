#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <vector>

#include "physarum/base/hash.hpp"

#include "physarum/weights/image.hpp"

namespace physarum::weights::test {

/// Share of the elements that change from one version to the next, where a test does not care.
inline constexpr double usual_density = 0.01;

/// Two tensors of odd sizes and a vector: gaps, a short last block, several blocks.
inline CataloguePtr small_catalogue(TransferType type, std::int64_t rows = 1001) {
  return make_catalogue(
      {{"embed.weight", {rows, 130}}, {"norm.weight", {257}}, {"head", {77, 501}}}, type);
}

/// How a version differs from the one before it.
struct Change {
  enum class To {
    anything,  ///< any bit pattern
    near,      ///< at most two units in the last place away, as after a small step
    special,   ///< NaNs, infinities, zeros, denormals
  };
  double density = usual_density;  ///< draws for each element; from 1 on every element is drawn
  To to = To::anything;
};
using Changes = std::function<Change(std::int64_t version)>;

inline Changes steady(double density) {
  return [density](std::int64_t) { return Change{density}; };
}

/// Of every tenth version nothing changes, of every tenth all; of the others up to 60 %, mostly
/// little. A function of the version's number and the seed.
inline Changes random_changes(std::uint64_t seed) {
  return [seed](std::int64_t version) {
    const std::uint64_t key[2] = {seed, static_cast<std::uint64_t>(version)};
    const std::uint64_t draw = base::hash64(std::as_bytes(std::span(key)));
    Change change;
    change.to = static_cast<Change::To>(draw % 3);
    const double part = static_cast<double>(draw >> 40) / static_cast<double>(1 << 24);
    change.density = 0.6 * part * part * part;
    if (part < 0.1) change.density = 0;
    if (part > 0.9) change.density = 1;
    return change;
  };
}

/// Weights whose every version follows from its number alone, so that trainer and engine compute
/// the same state without talking.
class EvolvingWeights {
 public:
  EvolvingWeights(CataloguePtr catalogue, Changes changes)
      : catalogue_(std::move(catalogue)),
        changes_(std::move(changes)),
        flat_(static_cast<std::size_t>(catalogue_->total_elements())) {
    for (std::size_t i = 0; i < flat_.size(); ++i) flat_[i] = anything(0, i);
  }
  EvolvingWeights(CataloguePtr catalogue, double density)
      : EvolvingWeights(std::move(catalogue), steady(density)) {}

  void advance_to(std::int64_t version) {
    while (version_ < version) step();
  }
  [[nodiscard]] std::int64_t version() const { return version_; }
  [[nodiscard]] const std::vector<float>& flat() const { return flat_; }
  [[nodiscard]] Image image() const {
    Image image(catalogue_);
    image.assign(flat_);
    image.set_version(base::WeightVersion(version_));
    return image;
  }

 private:
  void step() {
    const Change change = changes_(++version_);
    if (change.density >= 1) {
      for (std::size_t i = 0; i < flat_.size(); ++i) flat_[i] = next(change.to, i, flat_[i]);
      return;
    }
    const auto draws = static_cast<std::size_t>(change.density * static_cast<double>(flat_.size()));
    for (std::size_t i = 0; i < draws; ++i) {
      float& element = flat_[static_cast<std::size_t>(word(1, i)) % flat_.size()];
      element = next(change.to, i, element);
    }
  }
  [[nodiscard]] std::uint64_t word(std::uint64_t use, std::size_t i) const {
    const std::uint64_t key[3] = {use, static_cast<std::uint64_t>(version_), i};
    return base::hash64(std::as_bytes(std::span(key)));
  }
  /// Any bit pattern: NaN, infinities, -0 and denormals travel like others.
  [[nodiscard]] float anything(std::uint64_t use, std::size_t i) const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(word(use, i)));
  }
  [[nodiscard]] float next(Change::To to, std::size_t i, float before) const {
    if (to == Change::To::anything) return anything(2, i);
    if (to == Change::To::special) return special(word(2, i));
    const auto steps = static_cast<std::uint32_t>(word(2, i) % 5) - 2U;  // wraps round on purpose
    const int unit = catalogue_->type() == TransferType::bf16 ? 16 : 0;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(before) + (steps << unit));
  }
  [[nodiscard]] static float special(std::uint64_t word) {
    constexpr std::array<std::uint32_t, 10> bits = {
        0x7fc00000, 0xffc12345, 0x7f810000, 0x7f800000, 0xff800000,   // NaNs, infinities
        0x00000000, 0x80000000, 0x00010000, 0x807f0000, 0x7f7f0000};  // zeros, denormals, largest
    return std::bit_cast<float>(bits[word % bits.size()]);
  }

  CataloguePtr catalogue_;
  Changes changes_;
  std::vector<float> flat_;
  std::int64_t version_ = 0;
};

}  // namespace physarum::weights::test
