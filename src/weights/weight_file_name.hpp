#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "physarum/base/ids.hpp"

#include "physarum/storage/file_system.hpp"

namespace physarum::weights {

/// The name of a file in a weight directory says what is in it: one buffer rank's part of a
/// version.
struct WeightFileName {
  base::WeightVersion version;
  base::WeightVersion base;  ///< from which the delta leads; not valid: a full image
  int part = 0;
  int parts = 1;
  [[nodiscard]] bool is_full() const { return !base.valid(); }
  [[nodiscard]] std::string file_name() const;
  /// Nothing if file_name() gives no such name.
  [[nodiscard]] static std::optional<WeightFileName> from_name(std::string_view name);
};

/// Files that lead to a part of a version: a full image, deltas in their order.
using PartChain = std::vector<WeightFileName>;

struct CompleteVersion {
  base::WeightVersion version;
  std::vector<PartChain> chains;  ///< by part; empty for a part without bytes
  /// Of how many parts it is; two runs may have left the same version in different cuts.
  [[nodiscard]] int parts() const { return static_cast<int>(chains.size()); }
};
using VersionKey = std::pair<base::WeightVersion, int>;  ///< version, parts

[[nodiscard]] std::vector<WeightFileName> list_weight_files(storage::FileSystem& files,
                                                            const std::filesystem::path& directory);
/// The newest version, besides `excluded`, of which every part has a chain.
[[nodiscard]] std::optional<CompleteVersion> newest_complete(
    std::span<const WeightFileName> all, std::int64_t image_bytes,
    const std::set<VersionKey>& excluded = {});

/// The version of the key, if every part has a chain.
[[nodiscard]] std::optional<CompleteVersion> complete_version(std::span<const WeightFileName> all,
                                                              std::int64_t image_bytes,
                                                              const VersionKey& key);
/// What of a chain whoever has version `held` still needs: the files after it, if the chain goes
/// through it, otherwise all.
[[nodiscard]] std::span<const WeightFileName> after(const PartChain& chain,
                                                    base::WeightVersion held);

/// Of the files of part `part` those that nobody needs: older than its second newest full image,
/// and than the one that the newest complete version starts from.
[[nodiscard]] std::vector<WeightFileName> needless_files(std::span<const WeightFileName> all,
                                                         std::int64_t image_bytes, int part,
                                                         int parts);

}  // namespace physarum::weights
