#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "physarum/base/bytes.hpp"

#include "physarum/parallel/communicator.hpp"

namespace physarum::storage {

/// The digest of a dataset does not depend on how many ranks wrote it. Its bytes, in row order, are
/// cut into blocks of 4096 from the start; each block gives XXH3-128 of its bytes, mixed with its
/// number; the sum over blocks, mixed with the length, is the digest. A rank hashes the blocks that
/// lie in its share; what it holds of the blocks at its ends goes to rank 0, which joins them.
inline constexpr std::size_t digest_block = 4096;

struct DigestSum {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  void add(std::span<const std::byte> block, std::uint64_t number);
  void add(const DigestSum& other);
  /// "xxh3-4k:" and 32 hexadecimal digits.
  [[nodiscard]] std::string text(std::uint64_t total_bytes) const;
};

/// The digest of bytes that come piece by piece.
class StreamDigest {
 public:
  void add(std::span<const std::byte> bytes);
  /// After the last piece.
  [[nodiscard]] std::string text();

 private:
  DigestSum sum_;
  base::Bytes block_;  ///< the begun one
  std::uint64_t total_ = 0;
};

/// Bytes [begin, begin + bytes.size()) of the dataset.
struct Share {
  std::uint64_t begin = 0;
  std::span<const std::byte> bytes;
};

/// Sum over the blocks of a share that begins at a block and ends at one or at the dataset's end.
[[nodiscard]] DigestSum digest_blocks(const Share& share);

/// This rank alone holds everything.
[[nodiscard]] std::string digest_whole(std::span<const std::byte> bytes);

/// Collective over `comm`; the same text on every rank. The shares must cover [0, total) exactly
/// once; all ranks throw ContractViolation if not.
[[nodiscard]] std::string digest_shares(const Share& mine, std::uint64_t total,
                                        const parallel::Communicator& comm);

}  // namespace physarum::storage
