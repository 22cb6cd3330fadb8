#pragma once

#include <bit>
#include <cstdint>
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

/// Weights whose every version follows from its number alone, so that trainer and engine compute
/// the same state without talking.
class EvolvingWeights {
 public:
  EvolvingWeights(CataloguePtr catalogue, double density)
      : catalogue_(std::move(catalogue)),
        density_(density),
        flat_(static_cast<std::size_t>(catalogue_->total_elements())) {
    for (std::size_t i = 0; i < flat_.size(); ++i) flat_[i] = value(0, i);
  }

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
    ++version_;
    const auto changes = static_cast<std::size_t>(density_ * static_cast<double>(flat_.size()));
    for (std::size_t i = 0; i < changes; ++i) {
      flat_[static_cast<std::size_t>(word(1, i)) % flat_.size()] = value(2, i);
    }
  }
  [[nodiscard]] std::uint64_t word(std::uint64_t use, std::size_t i) const {
    const std::uint64_t key[3] = {use, static_cast<std::uint64_t>(version_), i};
    return base::hash64(std::as_bytes(std::span(key)));
  }
  /// Any bit pattern: NaN, infinities, -0 and denormals travel like others.
  [[nodiscard]] float value(std::uint64_t use, std::size_t i) const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(word(use, i)));
  }

  CataloguePtr catalogue_;
  double density_;
  std::vector<float> flat_;
  std::int64_t version_ = 0;
};

}  // namespace physarum::weights::test
