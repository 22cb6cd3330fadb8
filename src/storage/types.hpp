#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "physarum/storage/element.hpp"

#include "hdf5.hpp"

namespace physarum::storage {

/// HDF5's type in files (little-endian) and in memory. Not for text.
[[nodiscard]] hid_t file_type(Element element);
[[nodiscard]] hid_t memory_type(Element element);

/// Which element a stored type is; none if it is not one of ours (big-endian, compound,
/// variable-length, ...).
[[nodiscard]] std::optional<Element> element_of_type(hid_t type);

/// What a stored type is, in words for messages: "a variable-length string".
[[nodiscard]] std::string describe_type(hid_t type);

/// A fixed-length UTF-8 string type, padded with zeros; at least one byte.
[[nodiscard]] TypeHandle make_text_type(std::size_t bytes);

}  // namespace physarum::storage
