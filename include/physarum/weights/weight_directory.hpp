#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "physarum/storage/file.hpp"
#include "physarum/storage/file_system.hpp"

#include "physarum/weights/image.hpp"

namespace physarum::weights {

/// Weight versions as files, for other jobs: docs/formats/weights.md. The carrier `file` writes
/// them.
[[nodiscard]] storage::Format weight_format();

struct LoadedWeights {
  Image image;  ///< has a version
  /// Why newer versions than it could not be used; one line each.
  std::vector<std::string> unusable;
};
/// The newest version in the directory that is complete and intact, whoever may be writing there.
/// Throws UserError if there is none, or none of this catalogue. This rank alone; reads all of it.
[[nodiscard]] LoadedWeights load_newest_weights(storage::FileSystem& files,
                                                const std::filesystem::path& directory,
                                                const CataloguePtr& catalogue);

/// Whether the directory holds files of weight versions, complete or not.
[[nodiscard]] bool holds_weights(storage::FileSystem& files,
                                 const std::filesystem::path& directory);
/// Removes them, and what a killed writer left. Before anybody writes there.
void remove_weights(storage::FileSystem& files, const std::filesystem::path& directory);

enum class PayloadCheck { skip, verify };
/// What one of the files says of itself, for people. Throws UserError if its payload is not what
/// was written.
[[nodiscard]] std::vector<std::string> describe_weight_file(const storage::File& file,
                                                            PayloadCheck check);

}  // namespace physarum::weights
