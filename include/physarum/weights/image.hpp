#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "physarum/base/hash.hpp"
#include "physarum/base/ids.hpp"

#include "physarum/weights/catalogue.hpp"

namespace physarum::weights {

/// Bytes on a 4096-byte boundary. Move-only.
class AlignedBytes {
 public:
  enum class Fill { zeros, nothing };
  AlignedBytes() = default;
  AlignedBytes(std::int64_t size, Fill fill);
  [[nodiscard]] std::span<std::byte> span() {
    return {memory_.get(), static_cast<std::size_t>(size_)};
  }
  [[nodiscard]] std::span<const std::byte> span() const {
    return {memory_.get(), static_cast<std::size_t>(size_)};
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept;
  };
  std::unique_ptr<std::byte[], Free> memory_;
  std::int64_t size_ = 0;
};

/// All parameters of one version in the transfer type. Starts as zeros without a version (not
/// valid()). One owner; not shared between threads.
class Image {
 public:
  explicit Image(CataloguePtr catalogue);

  [[nodiscard]] const Catalogue& catalogue() const { return *catalogue_; }
  [[nodiscard]] const CataloguePtr& catalogue_ptr() const { return catalogue_; }

  /// All bytes, gaps between tensors included.
  [[nodiscard]] std::span<std::byte> bytes() { return memory_.span(); }
  [[nodiscard]] std::span<const std::byte> bytes() const { return memory_.span(); }
  [[nodiscard]] std::span<std::byte> tensor(std::int64_t index);
  [[nodiscard]] std::span<const std::byte> tensor(std::int64_t index) const;

  /// Which state the bytes are; not valid: none that can be trusted (a pull failed half-way).
  [[nodiscard]] base::WeightVersion version() const { return version_; }
  void set_version(base::WeightVersion version, std::vector<base::Digest> block_digests = {}) {
    version_ = version;
    block_digests_ = std::move(block_digests);
  }
  /// Those of the blocks in that state, if whoever brought the image to it knows them: a delta
  /// goes on from them. Empty otherwise.
  [[nodiscard]] const std::vector<base::Digest>& block_digests() const { return block_digests_; }

  /// From / to a flat fp32 buffer of catalogue().total_elements(), laid out by element offsets.
  void assign(std::span<const float> flat);
  void copy_to(std::span<float> flat) const;
  /// Bytes, version and digests of an image with an equal catalogue.
  void copy_from(const Image& other);

  /// xxh3-128 of each tensor's bytes (gaps not included), in catalogue order.
  [[nodiscard]] std::vector<base::Digest> tensor_digests() const;
  /// Of the catalogue's hash and all tensor digests: the checksum of the weights.
  [[nodiscard]] base::Digest digest() const;

 private:
  CataloguePtr catalogue_;
  AlignedBytes memory_;
  base::WeightVersion version_;
  std::vector<base::Digest> block_digests_;
};

/// The checksum of weights that lie in a flat fp32 buffer (total_elements()), as Image::digest() of
/// the image they would make.
[[nodiscard]] base::Digest digest_of(const CataloguePtr& catalogue, std::span<const float> flat);

}  // namespace physarum::weights
