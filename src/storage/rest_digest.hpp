#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "physarum/storage/checkpoint.hpp"

namespace physarum::storage {

/// Digest of all bytes of the file that are in none of the places (by offset): HDF5's own and the
/// small datasets.
[[nodiscard]] std::string digest_rest(RangeFile& ranges, std::span<const BulkPlace> bulk,
                                      std::uint64_t file_bytes);

}  // namespace physarum::storage
