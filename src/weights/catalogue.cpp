#include "physarum/weights/catalogue.hpp"

#include <limits>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"
#include "physarum/base/hash.hpp"

namespace physarum::weights {
namespace {

constexpr std::uint32_t format_magic = 0x43574850;  // "PHWC"
constexpr std::int64_t most_elements = std::int64_t{1} << 60;

/// The product of the extents; -1 if one of them is below 1 or the product is beyond all reason.
std::int64_t count_elements(const TensorSpec& spec) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : spec.shape) {
    if (extent < 1 || extent > most_elements / elements) return -1;
    elements *= extent;
  }
  return elements;
}

std::int64_t padded(std::int64_t elements) {
  constexpr std::int64_t step = Catalogue::alignment_elements;
  return (elements + step - 1) / step * step;
}

[[noreturn]] void refuse(const std::string& what, const std::string& name) {
  throw base::UserError(what, "tensor '" + name + "'", "correct the model's configuration");
}

}  // namespace

Catalogue::Catalogue(std::vector<TensorSpec> specs, TransferType type)
    : type_(type), specs_(std::move(specs)) {
  if (specs_.empty()) refuse("a weight catalogue without tensors", "");
  places_.reserve(specs_.size());
  for (std::int64_t i = 0; i < size(); ++i) {
    const TensorSpec& entry = specs_[static_cast<std::size_t>(i)];
    const std::int64_t elements = count_elements(entry);
    if (entry.name.empty()) refuse("a tensor has no name", entry.name);
    if (elements < 0) refuse("an extent is below 1, or the tensor is too large", entry.name);
    if (!index_.emplace(entry.name, i).second) refuse("two tensors have one name", entry.name);
    if (elements > most_elements - total_elements_) refuse("the model is too large", entry.name);
    places_.push_back({total_elements_, total_elements_ + elements});
    total_elements_ += padded(elements);
  }
  hash_ = base::hash64(serialise());
}

const TensorSpec& Catalogue::spec(std::int64_t index) const {
  base::expects(index >= 0 && index < size(), "tensor index is inside the catalogue");
  return specs_[static_cast<std::size_t>(index)];
}

Range Catalogue::elements(std::int64_t index) const {
  base::expects(index >= 0 && index < size(), "tensor index is inside the catalogue");
  return places_[static_cast<std::size_t>(index)];
}

Range Catalogue::bytes(std::int64_t index) const {
  const Range place = elements(index);
  return {place.begin * element_bytes(type_), place.end * element_bytes(type_)};
}

std::optional<std::int64_t> Catalogue::find(std::string_view name) const {
  const auto found = index_.find(std::string(name));
  if (found == index_.end()) return std::nullopt;
  return found->second;
}

base::Bytes Catalogue::serialise() const {
  base::ByteWriter writer;
  writer.put(format_magic);
  writer.put(static_cast<std::uint8_t>(type_));
  writer.put<std::uint64_t>(specs_.size());
  for (const TensorSpec& entry : specs_) {
    writer.put_string(entry.name);
    writer.put_vector(entry.shape);
  }
  return writer.take();
}

Catalogue Catalogue::deserialise(std::span<const std::byte> bytes) {
  base::ByteReader reader(bytes);
  if (reader.get<std::uint32_t>() != format_magic) {
    throw base::MalformedBytes("not a weight catalogue");
  }
  const auto type = reader.get<std::uint8_t>();
  if (type > 1) throw base::MalformedBytes("a weight catalogue of an unknown element type");
  const auto count = reader.get<std::uint64_t>();
  // Each tensor takes at least its two length words: a lying count cannot make us reserve much.
  if (count > reader.remaining() / 16) {
    throw base::MalformedBytes("a weight catalogue is shorter than its tensors");
  }
  std::vector<TensorSpec> specs(static_cast<std::size_t>(count));
  for (TensorSpec& entry : specs) {
    entry.name = reader.get_string();
    entry.shape = reader.get_vector<std::int64_t>();
  }
  reader.finish();
  try {
    return {std::move(specs), static_cast<TransferType>(type)};
  } catch (const base::UserError& error) {
    throw base::MalformedBytes(error.what());
  }
}

CataloguePtr make_catalogue(std::vector<TensorSpec> specs, TransferType type) {
  return std::make_shared<const Catalogue>(std::move(specs), type);
}

}  // namespace physarum::weights
