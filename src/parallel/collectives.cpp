#include <numeric>

#include "physarum/base/contracts.hpp"
#include "physarum/base/narrow.hpp"

#include "communicator_impl.hpp"
#include "pieces.hpp"
#include "requests.hpp"

namespace physarum::parallel {

using base::narrow;

namespace {
/// Whole bytes of every rank, cut out of one block.
std::vector<Bytes> cut(const std::byte* block, const std::vector<std::uint64_t>& sizes) {
  std::vector<Bytes> parts;
  parts.reserve(sizes.size());
  for (const auto size : sizes) {
    parts.emplace_back(block, block + size);
    block += size;
  }
  return parts;
}

struct IntBlocks {
  std::vector<int> counts, starts;
};
IntBlocks int_blocks(const std::vector<std::uint64_t>& sizes) {
  IntBlocks blocks;
  int start = 0;
  for (const auto size : sizes) {
    blocks.counts.push_back(narrow<int>(size));
    blocks.starts.push_back(start);
    start += blocks.counts.back();
  }
  return blocks;
}

std::uint64_t total_of(const std::vector<std::uint64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
}
}  // namespace

void Communicator::barrier(const Until& until) const {
  if (!impl_) return;
  Requests requests(*impl_, "barrier");
  requests.check(MPI_Ibarrier(impl_->handle.get(), requests.add()), "MPI_Ibarrier");
  requests.wait(impl_->deadline(until));
}

bool Communicator::agree(bool ok, const Until& until) const {
  return all_reduce_value<std::uint8_t>(ok ? 1 : 0, Op::min, until) == 1;
}

void Communicator::broadcast_raw(std::span<std::byte> bytes, int root, const Until& until) const {
  base::expects(root >= 0 && root < size(), "the root is a rank of the communicator");
  if (!impl_) return;
  const auto deadline = impl_->deadline(until);
  for_each_piece(bytes.size(), piece_limit(), [&](std::size_t begin, std::size_t count) {
    Requests requests(*impl_, "broadcast");
    requests.check(MPI_Ibcast(bytes.data() + begin, narrow<int>(count), MPI_BYTE, root,
                              impl_->handle.get(), requests.add()),
                   "MPI_Ibcast");
    requests.wait(deadline);
  });
}

void Communicator::broadcast_bytes(Bytes& bytes, int root, const Until& until) const {
  std::uint64_t size = bytes.size();
  broadcast(std::span<std::uint64_t>(&size, 1), root, until);
  bytes.resize(size);
  broadcast_raw(bytes, root, until);
}

void Communicator::broadcast_string(std::string& text, int root, const Until& until) const {
  std::uint64_t size = text.size();
  broadcast(std::span<std::uint64_t>(&size, 1), root, until);
  text.resize(size);
  broadcast_raw(std::as_writable_bytes(std::span<char>(text)), root, until);
}

void Communicator::all_gather_raw(std::span<const std::byte> mine, std::span<std::byte> all,
                                  const Until& until) const {
  base::expects(all.size() == mine.size() * static_cast<std::size_t>(size()),
                "all_gather needs room for every rank");
  if (!impl_) {
    std::copy(mine.begin(), mine.end(), all.begin());
    return;
  }
  const int count = narrow<int>(mine.size());
  Requests requests(*impl_, "all_gather");
  requests.check(MPI_Iallgather(mine.data(), count, MPI_BYTE, all.data(), count, MPI_BYTE,
                                impl_->handle.get(), requests.add()),
                 "MPI_Iallgather");
  requests.wait(impl_->deadline(until));
}

std::vector<Bytes> Communicator::all_gather_bytes(std::span<const std::byte> mine,
                                                  const Until& until) const {
  if (!impl_) return {Bytes(mine.begin(), mine.end())};
  const auto sizes = all_gather<std::uint64_t>(mine.size(), until);
  const auto total = total_of(sizes);
  if (total > piece_limit()) {  // the block does not fit into MPI's counts: one rank at a time
    std::vector<Bytes> parts(sizes.size());
    for (std::size_t root = 0; root < parts.size(); ++root) {
      parts[root].resize(sizes[root]);
      if (narrow<int>(root) == rank()) parts[root].assign(mine.begin(), mine.end());
      broadcast_raw(parts[root], narrow<int>(root), until);
    }
    return parts;
  }
  const auto blocks = int_blocks(sizes);
  Requests requests(*impl_, "all_gather_bytes");
  std::byte* all = requests.keep(total);
  requests.check(
      MPI_Iallgatherv(mine.data(), narrow<int>(mine.size()), MPI_BYTE, all, blocks.counts.data(),
                      blocks.starts.data(), MPI_BYTE, impl_->handle.get(), requests.add()),
      "MPI_Iallgatherv");
  requests.wait(impl_->deadline(until));
  return cut(all, sizes);
}

// Point to point in pieces: any length, and only the root holds everything.
std::vector<Bytes> Communicator::gather_bytes(std::span<const std::byte> mine, int root,
                                              const Until& until) const {
  base::expects(root >= 0 && root < size(), "the root is a rank of the communicator");
  if (!impl_) return {Bytes(mine.begin(), mine.end())};
  const auto sizes = all_gather<std::uint64_t>(mine.size(), until);
  Requests requests(*impl_, "gather_bytes");
  std::vector<Bytes> parts;
  if (rank() != root) {
    for_each_piece(mine.size(), piece_limit(), [&](std::size_t begin, std::size_t count) {
      requests.check(MPI_Isend(mine.data() + begin, narrow<int>(count), MPI_BYTE, root, tag_gather,
                               impl_->handle.get(), requests.add()),
                     "MPI_Isend");
    });
    requests.wait(impl_->deadline(until));
    return parts;
  }
  std::byte* all = requests.keep(total_of(sizes));
  std::byte* part = all;
  for (std::size_t from = 0; from < sizes.size(); part += sizes[from], ++from) {
    if (narrow<int>(from) == root) {
      std::copy(mine.begin(), mine.end(), part);
      continue;
    }
    for_each_piece(sizes[from], piece_limit(), [&](std::size_t begin, std::size_t count) {
      requests.check(MPI_Irecv(part + begin, narrow<int>(count), MPI_BYTE, narrow<int>(from),
                               tag_gather, impl_->handle.get(), requests.add()),
                     "MPI_Irecv");
    });
  }
  requests.wait(impl_->deadline(until));
  return cut(all, sizes);
}

}  // namespace physarum::parallel
