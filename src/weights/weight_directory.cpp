#include "physarum/weights/weight_directory.hpp"

#include "physarum/base/error.hpp"

#include "physarum/storage/commit.hpp"

#include "block_digests.hpp"
#include "weight_file.hpp"
#include "weight_file_name.hpp"

namespace physarum::weights {
namespace {

using base::UserError;
using Path = std::filesystem::path;

void read_version(const Path& directory, const CompleteVersion& version, Image& image) {
  base::ThreadTeam team(1);
  std::vector<base::Digest> digests;
  for (int part = 0; part < version.parts(); ++part) {
    const auto& chain = version.chains[static_cast<std::size_t>(part)];
    if (chain.empty()) continue;
    const Range range = StoreShards(image.catalogue().total_bytes(), version.parts()).of(part);
    const auto bytes = slice(image.bytes(), range);
    for (const WeightFileName& file : chain) {
      read_weight_file(directory, file, image.catalogue(), bytes, digests);
    }
    const auto wrong = first_wrong_block(bytes, digests, team);
    if (wrong < 0) continue;
    throw UserError("block " + std::to_string(wrong) +
                        " does not have its digest: this file, or "
                        "one that it needs, is damaged",
                    (directory / chain.back().file_name()).string(), "remove the file");
  }
  image.set_version(version.version);
}

[[noreturn]] void refuse(storage::FileSystem& files, const Path& directory,
                         const std::vector<std::string>& reasons) {
  const std::string where = directory.string();
  constexpr const char* check =
      "check --weight-directory; a training run with --weight-carrier "
      "file writes there";
  if (!reasons.empty()) {
    throw UserError("no weight version can be used; the newest: " + reasons.front(), where, "");
  }
  if (!files.exists(directory)) throw UserError("there is no such directory", where, check);
  if (holds_weights(files, directory)) {
    throw UserError("no weight version is complete", where,
                    "wait for the run that writes it, or check that all its files are there");
  }
  throw UserError("the directory holds no weight versions", where, check);
}

std::vector<WeightFileName> list_for_reading(storage::FileSystem& files, const Path& directory) {
  try {
    return list_weight_files(files, directory);
  } catch (const base::WorldError& error) {
    throw UserError(std::string("the directory cannot be read: ") + error.what(),
                    directory.string(), "check --weight-directory");
  }
}

}  // namespace

/// The directory is looked at anew for each attempt: a file that was removed in between has been
/// followed by newer ones.
LoadedWeights load_newest_weights(storage::FileSystem& files, const Path& directory,
                                  const CataloguePtr& catalogue) {
  std::set<VersionKey> failed;
  std::vector<std::pair<base::WeightVersion, std::string>> reasons;
  LoadedWeights loaded{Image(catalogue), {}};
  for (;;) {
    const auto present = list_for_reading(files, directory);
    const auto version = newest_complete(present, catalogue->total_bytes(), failed);
    const auto newer = [&](const auto& reason) {
      return !version || reason.first > version->version;
    };
    loaded.unusable.clear();
    for (const auto& reason : reasons) {
      if (newer(reason)) loaded.unusable.push_back(reason.second);
    }
    if (!version) refuse(files, directory, loaded.unusable);
    try {
      read_version(directory, *version, loaded.image);
      return loaded;
    } catch (const UserError& error) {
      failed.emplace(version->version, version->parts());
      reasons.emplace_back(version->version, error.what());
    }
  }
}

bool holds_weights(storage::FileSystem& files, const Path& directory) {
  return !list_weight_files(files, directory).empty();
}

void remove_weights(storage::FileSystem& files, const Path& directory) {
  for (const std::string& name : files.list(directory)) {
    const Path path = directory / name;
    const bool left =
        storage::is_temporary(path) && WeightFileName::from_name(path.stem().string());
    if (left || WeightFileName::from_name(name)) files.remove(path);
  }
}

}  // namespace physarum::weights
