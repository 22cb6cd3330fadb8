#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "physarum/base/bytes.hpp"

namespace physarum::weights {

/// Element type of an image: what travels from trainers to engines.
enum class TransferType : std::uint8_t { bf16, f32 };
[[nodiscard]] constexpr std::int64_t element_bytes(TransferType type) {
  return type == TransferType::bf16 ? 2 : 4;
}

/// One named tensor, row-major.
struct TensorSpec {
  std::string name;
  std::vector<std::int64_t> shape;  ///< every extent at least 1; empty: one element
  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

/// Half-open range of bytes (of an image) or of elements, as the user of it says.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  [[nodiscard]] std::int64_t size() const { return end - begin; }
  friend bool operator==(const Range&, const Range&) = default;
};

/// What an image contains: tensors in one fixed order, with their places. Immutable; a pure
/// function of (specs, type), so that all ranks make the same one. Any thread.
///
/// Offsets counted in elements do not depend on the type: every tensor starts at a multiple of 32
/// elements, which is 64 bytes in bf16 and 128 in f32. A flat fp32 parameter buffer that is laid
/// out by element offsets is therefore converted to or from an image in one loop, gaps included;
/// gaps hold zeros.
class Catalogue {
 public:
  static constexpr std::int64_t alignment_elements = 32;

  /// Throws UserError (naming the tensor) for no tensors, an empty or doubled name, an extent
  /// below 1, or more than 2^62 bytes in all.
  Catalogue(std::vector<TensorSpec> specs, TransferType type);

  [[nodiscard]] TransferType type() const { return type_; }
  [[nodiscard]] const std::vector<TensorSpec>& specs() const { return specs_; }
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(specs_.size()); }
  [[nodiscard]] const TensorSpec& spec(std::int64_t index) const;
  /// Place of a tensor's elements in a flat buffer of total_elements().
  [[nodiscard]] Range elements(std::int64_t index) const;
  /// Place of a tensor's bytes in an image of total_bytes().
  [[nodiscard]] Range bytes(std::int64_t index) const;
  /// Gaps included; a multiple of alignment_elements.
  [[nodiscard]] std::int64_t total_elements() const { return total_elements_; }
  [[nodiscard]] std::int64_t total_bytes() const { return total_elements_ * element_bytes(type_); }
  [[nodiscard]] std::optional<std::int64_t> find(std::string_view name) const;
  /// Of names, shapes, order and type: two ranks with equal hashes have equal catalogues.
  [[nodiscard]] std::uint64_t hash() const { return hash_; }

  [[nodiscard]] base::Bytes serialise() const;
  /// Throws base::MalformedBytes for anything that serialise() cannot have written.
  [[nodiscard]] static Catalogue deserialise(std::span<const std::byte> bytes);

 private:
  TransferType type_;
  std::vector<TensorSpec> specs_;
  std::vector<Range> places_;  // in elements
  std::unordered_map<std::string, std::int64_t> index_;
  std::int64_t total_elements_ = 0;
  std::uint64_t hash_ = 0;
};

using CataloguePtr = std::shared_ptr<const Catalogue>;
[[nodiscard]] CataloguePtr make_catalogue(std::vector<TensorSpec> specs, TransferType type);

}  // namespace physarum::weights
