#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "physarum/base/bytes.hpp"
#include "physarum/base/hash.hpp"

#include "physarum/storage/file.hpp"

#include "physarum/weights/catalogue.hpp"

#include "store_layout.hpp"
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

/// One of the files, open to be read piece by piece. The thread that owns HDF5. All throw UserError
/// if the file is not what its name says or is of another catalogue.
class WeightFileReader {
 public:
  WeightFileReader(const std::filesystem::path& directory, const WeightFileName& name,
                   const Catalogue& catalogue);
  /// Of a full image as long as the part.
  [[nodiscard]] std::int64_t payload_bytes() const { return payload_bytes_; }
  /// Those that the part's blocks have in the file's version.
  [[nodiscard]] std::vector<base::Digest> digests() const;
  /// A piece of the payload; not compared with anything.
  void read(std::int64_t offset, std::span<std::byte> to) const;
  /// All of it; throws UserError, too, if it is not what was written.
  void read_all(std::span<std::byte> to) const;

 private:
  storage::File file_;
  Range part_;
  std::int64_t payload_bytes_;
};

/// Brings `bytes`, the part of an image, from the state of the part's base (any, for a full image)
/// to its version, and `digests` to those that the blocks then have; does not compare them. Throws
/// UserError if the file is not what its name says or is of another catalogue.
void read_weight_file(const std::filesystem::path& directory, const WeightFileName& name,
                      const Catalogue& catalogue, std::span<std::byte> bytes,
                      std::vector<base::Digest>& digests);

}  // namespace physarum::weights
