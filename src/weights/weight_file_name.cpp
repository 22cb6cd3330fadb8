#include "weight_file_name.hpp"

#include <algorithm>
#include <charconv>
#include <functional>

#include "physarum/weights/reshard_rounds.hpp"

namespace physarum::weights {
namespace {

constexpr std::int64_t most_parts = 1'000'000;

bool take_text(std::string_view& rest, std::string_view text) {
  if (!rest.starts_with(text)) return false;
  rest.remove_prefix(text.size());
  return true;
}

/// -1: there is none.
std::int64_t take_number(std::string_view& rest) {
  std::int64_t value = -1;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc()) return -1;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return value;
}

std::optional<PartChain> chain_to(std::span<const WeightFileName> all, base::WeightVersion version,
                                  int part, int parts) {
  PartChain chain;
  for (;;) {
    const WeightFileName* found = nullptr;
    for (const WeightFileName& one : all) {
      const bool fits = one.version == version && one.part == part && one.parts == parts;
      if (fits && (found == nullptr || one.is_full())) found = &one;
    }
    if (found == nullptr || found->base >= version) return std::nullopt;
    chain.push_back(*found);
    if (found->is_full()) break;
    version = found->base;
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

}  // namespace

std::string WeightFileName::file_name() const {
  return "weights-" + std::to_string(version.value()) +
         (is_full() ? "-full" : "-after-" + std::to_string(base.value())) + "-part-" +
         std::to_string(part) + "-of-" + std::to_string(parts) + ".h5";
}

std::optional<WeightFileName> WeightFileName::from_name(std::string_view name) {
  std::string_view rest = name;
  if (!take_text(rest, "weights-")) return std::nullopt;
  const auto number_after = [&](std::string_view text) {
    return take_text(rest, text) ? take_number(rest) : -1;
  };
  const auto version = take_number(rest);
  const auto base = take_text(rest, "-full") ? -1 : number_after("-after-");
  const auto part = number_after("-part-");
  const auto parts = number_after("-of-");
  if (version < 0 || base < -1 || part < 0 || part >= parts || parts > most_parts) {
    return std::nullopt;
  }
  // Numbers that are missing or out of their range give another name.
  const WeightFileName found{base::WeightVersion(version), base::WeightVersion(base),
                             static_cast<int>(part), static_cast<int>(parts)};
  if (found.file_name() != name) return std::nullopt;
  return found;
}

std::vector<WeightFileName> list_weight_files(storage::FileSystem& files,
                                              const std::filesystem::path& directory) {
  std::vector<WeightFileName> all;
  for (const std::string& name : files.list(directory)) {
    if (const auto file = WeightFileName::from_name(name)) all.push_back(*file);
  }
  return all;
}

std::optional<CompleteVersion> complete_version(std::span<const WeightFileName> all,
                                                std::int64_t image_bytes, const VersionKey& key) {
  CompleteVersion found{key.first, {}};
  const StoreShards shards(image_bytes, key.second);
  for (int part = 0; part < key.second; ++part) {
    std::optional<PartChain> chain = PartChain();
    if (shards.of(part).size() > 0) chain = chain_to(all, key.first, part, key.second);
    if (!chain) return std::nullopt;
    found.chains.push_back(std::move(*chain));
  }
  return found;
}

std::span<const WeightFileName> after(const PartChain& chain, base::WeightVersion held) {
  const std::span<const WeightFileName> all(chain);
  if (!held.valid()) return all;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].version == held) return all.subspan(i + 1);
  }
  return all;
}

std::optional<CompleteVersion> newest_complete(std::span<const WeightFileName> all,
                                               std::int64_t image_bytes,
                                               const std::set<VersionKey>& excluded) {
  std::set<VersionKey, std::greater<>> keys;
  for (const WeightFileName& one : all) keys.emplace(one.version, one.parts);
  for (const VersionKey& key : keys) {
    if (excluded.contains(key)) continue;
    if (auto found = complete_version(all, image_bytes, key)) return found;
  }
  return std::nullopt;
}

std::vector<WeightFileName> needless_files(std::span<const WeightFileName> all,
                                           std::int64_t image_bytes, int part, int parts) {
  std::vector<WeightFileName> mine;
  std::vector<WeightFileName> same_cut;
  std::vector<base::WeightVersion> full;
  for (const WeightFileName& one : all) {
    if (one.parts != parts) continue;
    same_cut.push_back(one);
    if (one.part != part) continue;
    mine.push_back(one);
    if (one.is_full()) full.push_back(one.version);
  }
  const auto newest = newest_complete(same_cut, image_bytes);
  if (full.size() < 2 || !newest) return {};
  std::sort(full.begin(), full.end(), std::greater<>());
  const auto& chain = newest->chains[static_cast<std::size_t>(part)];
  const auto oldest = chain.empty() ? full[1] : std::min(full[1], chain.front().version);
  std::erase_if(mine, [&](const WeightFileName& one) { return one.version >= oldest; });
  return mine;
}

}  // namespace physarum::weights
