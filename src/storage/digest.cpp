#include "digest.hpp"

#include <algorithm>
#include <array>

#include "physarum/base/contracts.hpp"
#include "physarum/base/hash.hpp"

namespace physarum::storage {

namespace {
std::uint64_t block_end(std::uint64_t number, std::uint64_t total) {
  return std::min(total, (number + 1) * digest_block);
}

/// A part of a block, at one end of a rank's share.
struct Fragment {
  std::uint64_t begin = 0;
  base::Bytes bytes;
};

struct Part {
  std::uint64_t begin = 0, end = 0;
  DigestSum sum;
  std::vector<Fragment> fragments;
};

Part digest_share(const Share& share, std::uint64_t total) {
  Part part{share.begin, share.begin + share.bytes.size(), {}, {}};
  if (part.end > total) return part;  // covers nothing: rank 0 will say so
  for (std::uint64_t at = part.begin; at < part.end;) {
    const std::uint64_t number = at / digest_block;
    const std::uint64_t stop = std::min(part.end, block_end(number, total));
    const auto bytes = share.bytes.subspan(at - part.begin, stop - at);
    if (at == number * digest_block && stop == block_end(number, total)) {
      part.sum.add(bytes, number);
    } else {
      part.fragments.push_back({at, base::Bytes(bytes.begin(), bytes.end())});
    }
    at = stop;
  }
  return part;
}

base::Bytes encode(const Part& part) {
  base::ByteWriter writer;
  writer.put_vector(std::vector{part.begin, part.end, part.sum.low, part.sum.high});
  for (const auto& fragment : part.fragments) {
    writer.put_vector(std::vector{fragment.begin});
    writer.put_vector(fragment.bytes);
  }
  return writer.take();
}

Part decode(const base::Bytes& bytes) {
  base::ByteReader reader(bytes);
  Part part;
  const auto head = reader.get_vector<std::uint64_t>();
  part = {head.at(0), head.at(1), {head.at(2), head.at(3)}, {}};
  while (reader.remaining() > 0) {
    Fragment fragment;
    fragment.begin = reader.get_vector<std::uint64_t>().at(0);
    fragment.bytes = reader.get_vector<std::byte>();
    part.fragments.push_back(std::move(fragment));
  }
  return part;
}

bool cover_once(std::vector<Part>& parts, std::uint64_t total) {
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t at = 0;
  for (const auto& part : parts) {
    if (part.begin == part.end) continue;  // a rank without rows may name any place
    if (part.begin != at) return false;
    at = part.end;
  }
  return at == total;
}

/// Joins what the ranks hold of shared blocks; `parts` cover everything in order.
DigestSum join(const std::vector<Part>& parts, std::uint64_t total) {
  DigestSum sum;
  base::Bytes block;
  for (const auto& part : parts) {
    sum.add(part.sum);
    for (const auto& fragment : part.fragments) {
      block.insert(block.end(), fragment.bytes.begin(), fragment.bytes.end());
      const std::uint64_t number = fragment.begin / digest_block;
      if (fragment.begin + fragment.bytes.size() != block_end(number, total)) continue;
      sum.add(block, number);
      block.clear();
    }
  }
  return sum;
}
}  // namespace

void DigestSum::add(std::span<const std::byte> block, std::uint64_t number) {
  const base::Digest digest = base::digest128(block);
  const std::array<std::uint64_t, 3> mixed{digest.low, digest.high, number};
  const auto bytes = std::as_bytes(std::span(mixed));
  low += base::hash64(bytes, 1);
  high += base::hash64(bytes, 2);
}

void DigestSum::add(const DigestSum& other) {
  low += other.low;
  high += other.high;
}

std::string DigestSum::text(std::uint64_t total_bytes) const {
  const std::array<std::uint64_t, 3> mixed{low, high, total_bytes};
  return "xxh3-4k:" + base::digest128(std::as_bytes(std::span(mixed))).hex();
}

void StreamDigest::add(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto take = std::min<std::size_t>(digest_block - block_.size(), bytes.size());
    block_.insert(block_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(take));
    bytes = bytes.subspan(take);
    total_ += take;
    if (block_.size() < digest_block) continue;
    sum_.add(block_, total_ / digest_block - 1);
    block_.clear();
  }
}

std::string StreamDigest::text() {
  if (!block_.empty()) sum_.add(block_, total_ / digest_block);
  block_.clear();
  return sum_.text(total_);
}

DigestSum digest_blocks(const Share& share) {
  base::expects(share.begin % digest_block == 0, "the share begins at a block");
  DigestSum sum;
  for (std::uint64_t at = 0; at < share.bytes.size(); at += digest_block) {
    sum.add(share.bytes.subspan(at, std::min<std::uint64_t>(digest_block, share.bytes.size() - at)),
            (share.begin + at) / digest_block);
  }
  return sum;
}

std::string digest_whole(std::span<const std::byte> bytes) {
  return digest_share({0, bytes}, bytes.size()).sum.text(bytes.size());
}

std::string digest_shares(const Share& mine, std::uint64_t total,
                          const parallel::Communicator& comm) {
  const auto gathered = comm.gather_bytes(encode(digest_share(mine, total)), 0);
  std::string text;
  if (comm.rank() == 0) {
    std::vector<Part> parts;
    for (const auto& bytes : gathered) parts.push_back(decode(bytes));
    if (cover_once(parts, total)) text = join(parts, total).text(total);
  }
  comm.broadcast_string(text, 0);
  base::expects(!text.empty(), "the ranks' rows cover the dataset exactly once");
  return text;
}

}  // namespace physarum::storage
