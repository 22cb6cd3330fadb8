#include "physarum/base/contracts.hpp"

#include "physarum/storage/checkpoint_writer.hpp"

namespace physarum::storage {

std::vector<BulkShare> split_evenly(std::span<const BulkDataset> datasets,
                                    std::span<const std::span<const std::byte>> whole, int rank,
                                    int ranks) {
  base::expects(datasets.size() == whole.size() && rank >= 0 && rank < ranks,
                "memory for every dataset");
  std::uint64_t total = 0;
  for (const auto& bytes : whole) total += bytes.size();
  const auto bound = [&](int r) {
    return total / static_cast<std::uint64_t>(ranks) * static_cast<std::uint64_t>(r);
  };
  const std::uint64_t first = bound(rank), last = rank + 1 == ranks ? total : bound(rank + 1);
  std::vector<BulkShare> shares;
  std::uint64_t at = 0;  // of the dataset, in all bytes one after another
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const std::uint64_t size = whole[i].size();
    const auto within = [&](std::uint64_t place) {
      if (place <= at) return std::uint64_t{0};
      return place >= at + size ? size : (place - at) / share_alignment * share_alignment;
    };
    const std::uint64_t begin = within(first), end = within(last);
    if (begin < end) shares.push_back({i, begin, whole[i].subspan(begin, end - begin)});
    at += size;
  }
  return shares;
}

}  // namespace physarum::storage
