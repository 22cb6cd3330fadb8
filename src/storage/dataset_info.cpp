#include <algorithm>

#include "physarum/base/contracts.hpp"

#include "file_impl.hpp"
#include "types.hpp"

// Everything about a dataset that could mislead a reader is checked before memory is taken for it:
// type, extent, layout, filters, and that its bytes lie inside the file.

namespace physarum::storage {

namespace {
constexpr const char* mend_dataset = "check that it is the file you meant, or write it again";
constexpr int most_dimensions = 8;

/// None on overflow.
std::optional<std::uint64_t> multiply(std::uint64_t first, std::span<const std::uint64_t> rest) {
  std::uint64_t product = first;
  for (const auto size : rest) {
    if (__builtin_mul_overflow(product, size, &product)) return std::nullopt;
  }
  return product;
}

Extent extent_of(const File::Impl& file, std::string_view name, hid_t dataset) {
  const SpaceHandle space(check_id(H5Dget_space(dataset), "H5Dget_space", file.place(name)));
  const int dimensions = H5Sget_simple_extent_ndims(space.get());
  if (dimensions < 0 || dimensions > most_dimensions) {
    file.refuse(name, "it has " + std::to_string(dimensions) + " dimensions", mend_dataset);
  }
  std::vector<hsize_t> sizes(static_cast<std::size_t>(dimensions));
  H5Sget_simple_extent_dims(space.get(), sizes.data(), nullptr);
  return Extent(sizes.begin(), sizes.end());
}

void refuse_foreign_data(const File::Impl& file, std::string_view name, hid_t properties) {
  if (H5Pget_layout(properties) == H5D_VIRTUAL || H5Pget_external_count(properties) > 0) {
    file.refuse(name, "its data lies in other files", mend_dataset);
  }
  for (int i = 0; i < H5Pget_nfilters(properties); ++i) {
    unsigned flags = 0;
    std::size_t values = 0;
    const auto filter = H5Pget_filter2(properties, static_cast<unsigned>(i), &flags, &values,
                                       nullptr, 0, nullptr, nullptr);
    if (filter != H5Z_FILTER_FLETCHER32) {
      file.refuse(name, "it is compressed, which Physarum does not read",
                  "write it without compression");
    }
  }
}

void refuse_missing_data(const File::Impl& file, std::string_view name, hid_t dataset,
                         hid_t properties, std::uint64_t bytes) {
  if (bytes == 0) return;
  const std::uint64_t stored = H5Dget_storage_size(dataset);
  bool whole = stored >= bytes && stored <= file.bytes;
  if (H5Pget_layout(properties) == H5D_CONTIGUOUS) {
    const haddr_t offset = H5Dget_offset(dataset);
    whole = whole && offset != HADDR_UNDEF && offset <= file.bytes - stored;
  }
  H5Eclear2(H5E_DEFAULT);
  if (whole) return;
  file.refuse(name, "it claims " + std::to_string(bytes) + " bytes that are not in the file",
              mend_dataset);
}

/// Text is one string: its extent is empty and its bytes are the string's.
std::uint64_t text_bytes(const File::Impl& file, std::string_view name, hid_t type,
                         const Extent& extent) {
  if (!extent.empty()) file.refuse(name, "it is a list of strings, not one text", mend_dataset);
  return H5Tget_size(type);
}
}  // namespace

std::uint64_t count_elements(std::span<const std::uint64_t> extent) {
  const auto product = multiply(1, extent);
  base::expects(product.has_value(), "the extent fits into 64 bits");
  return *product;
}

std::uint64_t row_bytes(Element element, const Extent& extent) {
  base::expects(!extent.empty(), "a dataset has rows");
  return element_bytes(element) * count_elements(std::span(extent).subspan(1));
}

CheckedDataset open_dataset(const File::Impl& file, std::string_view name) {
  const auto object = open_object(file, name);
  if (H5Iget_type(object.get()) != H5I_DATASET)
    file.refuse(name, "this is not a dataset", mend_dataset);
  CheckedDataset found;
  found.handle =
      DatasetHandle(check_id(H5Dopen2(file.handle.get(), std::string(name).c_str(), H5P_DEFAULT),
                             "H5Dopen2", file.place(name)));
  const hid_t dataset = found.handle.get();
  const TypeHandle type(check_id(H5Dget_type(dataset), "H5Dget_type", file.place(name)));
  const auto element = element_of_type(type.get());
  if (!element) {
    file.refuse(name, "it holds " + describe_type(type.get()) + ", which Physarum does not read",
                mend_dataset);
  }
  auto& info = found.info;
  info.element = *element;
  info.extent = extent_of(file, name, dataset);
  if (*element == Element::text) {
    info.bytes = text_bytes(file, name, type.get(), info.extent);
  } else {
    if (info.extent.empty()) file.refuse(name, "it is a single value without extent", mend_dataset);
    const auto bytes = multiply(element_bytes(*element), info.extent);
    if (!bytes) file.refuse(name, "its extent is beyond all bounds", mend_dataset);
    info.bytes = *bytes;
  }
  const PropertiesHandle properties(
      check_id(H5Dget_create_plist(dataset), "H5Dget_create_plist", file.place(name)));
  refuse_foreign_data(file, name, properties.get());
  if (file.access == Access::read) {
    refuse_missing_data(file, name, dataset, properties.get(), info.bytes);
  }
  info.has_digest = H5Aexists(dataset, digest_attribute) > 0;
  return found;
}

CheckedDataset open_dataset(const File::Impl& file, std::string_view name, Element element) {
  auto found = open_dataset(file, name);
  if (found.info.element != element) {
    file.refuse(name,
                "it holds " + std::string(element_name(found.info.element)) + ", not " +
                    std::string(element_name(element)),
                mend_dataset);
  }
  return found;
}

DatasetInfo File::info(std::string_view name) const {
  base::expects(valid(), "the file is open");
  return open_dataset(*impl_, name).info;
}

std::size_t File::elements_for(std::string_view name, Element element,
                               const std::optional<Extent>& expected) const {
  base::expects(valid(), "the file is open");
  const auto info = open_dataset(*impl_, name, element).info;
  const auto text = [](const Extent& extent) {
    std::string result;
    for (const auto size : extent) {
      result += (result.empty() ? "" : " x ") + (size == any_size ? "any" : std::to_string(size));
    }
    return result;
  };
  if (expected) {
    const bool fits = std::equal(info.extent.begin(), info.extent.end(), expected->begin(),
                                 expected->end(), [](std::uint64_t has, std::uint64_t wanted) {
                                   return wanted == any_size || has == wanted;
                                 });
    if (!fits) {
      impl_->refuse(name, "its extent is " + text(info.extent) + ", expected " + text(*expected),
                    mend_dataset);
    }
  }
  return info.bytes / element_bytes(element);
}

}  // namespace physarum::storage
