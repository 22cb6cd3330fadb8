#include "rest_digest.hpp"

#include <algorithm>

#include "digest.hpp"
#include "pieces_of_work.hpp"

namespace physarum::storage {

std::string digest_rest(RangeFile& ranges, std::span<const BulkPlace> bulk,
                        std::uint64_t file_bytes) {
  StreamDigest digest;
  base::Bytes piece;
  const auto add = [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t at = begin; at < end; at += piece.size()) {
      piece.resize(std::min(piece_bytes, end - at));
      ranges.read_at(at, piece);
      digest.add(piece);
    }
  };
  std::uint64_t at = 0;
  for (const auto& place : bulk) {
    add(at, place.offset);
    at = place.offset + place.dataset.bytes();
  }
  add(at, file_bytes);
  return digest.text();
}

}  // namespace physarum::storage
