#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "physarum/base/bytes.hpp"
#include "physarum/base/hash.hpp"

#include "physarum/storage/file.hpp"

#include "physarum/weights/catalogue.hpp"

#include "weight_file_name.hpp"

namespace physarum::weights {

/// A part of a version on its way to a file.
struct WeightFileContent {
  WeightFileName name;
  std::uint64_t catalogue = 0;  ///< Catalogue::hash()
  TransferType type = TransferType::bf16;
  std::int64_t image_bytes = 0;       ///< of the whole image
  std::vector<base::Digest> digests;  ///< of the part's blocks in that version
  base::Bytes payload;                ///< the part of the image, or frames of deltas; may be empty
};

/// Makes the file with everything but the payload, for which it leaves room; returns where that is,
/// in bytes from the file's start. The thread that owns HDF5.
[[nodiscard]] std::uint64_t begin_weight_file(const std::filesystem::path& path,
                                              const WeightFileContent& content);

/// Brings `bytes`, the part of an image, from the state of the part's base (any, for a full image)
/// to its version, and `digests` to those that the blocks then have; does not compare them. Throws
/// UserError if the file is not what its name says or is of another catalogue.
void read_weight_file(const std::filesystem::path& directory, const WeightFileName& name,
                      const Catalogue& catalogue, std::span<std::byte> bytes,
                      std::vector<base::Digest>& digests);

}  // namespace physarum::weights
