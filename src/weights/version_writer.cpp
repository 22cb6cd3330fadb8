#include "version_writer.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <stdexcept>

#include "physarum/base/logging.hpp"

#include "physarum/storage/commit.hpp"

#include "store_words.hpp"

namespace physarum::weights {
namespace {

using Path = std::filesystem::path;
constexpr std::size_t piece_bytes = std::size_t{8} << 20;

/// The thread's part, without MPI and without HDF5.
void commit(storage::FileSystem& files, const Path& directory, const WeightFileContent& content,
            std::uint64_t offset) {
  const Path path = directory / content.name.file_name();
  const Path temporary = storage::temporary_path(path);
  {
    const auto file = files.open_ranges(temporary, storage::RangeAccess::write);
    const std::span<const std::byte> all(content.payload);
    for (std::size_t at = 0; at < all.size(); at += piece_bytes) {
      file->write_at(offset + at, all.subspan(at, std::min(piece_bytes, all.size() - at)));
    }
  }
  files.sync_file(temporary);
  files.rename(temporary, path);
  files.sync_directory(directory);
  const auto present = list_weight_files(files, directory);
  for (const WeightFileName& old :
       needless_files(present, content.image_bytes, content.name.part, content.name.parts)) {
    files.remove(directory / old.file_name());
  }
}

}  // namespace

VersionWriter::VersionWriter(const StoreLayout& layout, int buffer,
                             std::span<const std::byte> memory, StoreAccess& store,
                             std::uint64_t catalogue, storage::FileSystem& files, Path directory)
    : layout_(layout),
      buffer_(buffer),
      store_(store),
      catalogue_(catalogue),
      files_(files),
      directory_(std::move(directory)),
      source_(layout, buffer, memory, store) {}

bool VersionWriter::advance() {
  const bool any = finish();
  if (writing_.valid()) return any;
  const auto candidate = source_.next(taken_);
  if (!candidate) return any;
  auto pieces = source_.take(*candidate);
  if (pieces.empty()) return any;
  taken_ = candidate->version;
  // A part without bytes is in every version as it is.
  if (layout_.shard(buffer_).size() == 0) {
    say_filed();
  } else {
    begin(content_of(*candidate, std::move(pieces)));
  }
  return true;
}

WeightFileContent VersionWriter::content_of(const VersionSource::Candidate& candidate,
                                            std::vector<VersionSource::Piece> pieces) const {
  const Range shard = layout_.shard(buffer_);
  WeightFileContent content;
  const bool full = candidate.slot >= 0;
  content.name = {candidate.version, full ? base::WeightVersion() : candidate.before, buffer_,
                  layout_.buffer_ranks()};
  content.catalogue = catalogue_;
  content.type = layout_.type();
  content.image_bytes = layout_.image_bytes();
  content.digests.resize(static_cast<std::size_t>(StoreLayout::blocks_of(shard)));
  base::Bytes& head = pieces.front().bytes;
  const auto digests = std::as_writable_bytes(std::span(content.digests));
  std::memcpy(digests.data(), head.data() + head.size() - digests.size(), digests.size());
  if (full) {
    head.resize(static_cast<std::size_t>(shard.size()));
    content.payload = std::move(head);
    return content;
  }
  for (const auto& frames : std::span(pieces).subspan(1)) {
    content.payload.insert(content.payload.end(), frames.bytes.begin(), frames.bytes.end());
  }
  return content;
}

void VersionWriter::begin(WeightFileContent content) {
  bound_chain(content);
  try {
    temporary_ = storage::temporary_path(directory_ / content.name.file_name());
    const auto offset = begin_weight_file(temporary_, content);
    writing_ = std::async(std::launch::async, [this, offset, content = std::move(content)] {
      commit(files_, directory_, content, offset);
    });
  } catch (const std::runtime_error& error) {  // the disk's, or a place that cannot be written
    failed(error.what());
    say_filed();
  }
}

void VersionWriter::say_filed() {
  store_.store(buffer_, StoreWords::filed, StoreWords::of(taken_));
}

void VersionWriter::bound_chain(const WeightFileContent& content) {
  const bool full = content.name.is_full();
  chain_files_ = full ? 0 : chain_files_ + 1;
  chain_bytes_ = full ? 0 : chain_bytes_ + std::ssize(content.payload);
  if (chain_files_ >= longest_chain || chain_bytes_ > layout_.shard(buffer_).size()) {
    store_.store(0, StoreWords::wanted, 1);
  }
}

bool VersionWriter::finish() {
  if (!writing_.valid()) return false;
  if (writing_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
  try {
    writing_.get();
  } catch (const base::WorldError& error) {
    failed(error.what());
  }
  say_filed();
  return true;
}

void VersionWriter::failed(const std::string& why) {
  base::log_warning("weight version " + std::to_string(taken_.value()) + " is not in " +
                    directory_.string() + " (" + why + "); the next one goes there in full");
  store_.store(0, StoreWords::wanted, 1);
  try {
    files_.remove(temporary_);  // a disk may be full by what could not be finished
  } catch (const base::WorldError& error) {
    base::log_warning(std::string("a temporary file stays: ") + error.what());
  }
}

}  // namespace physarum::weights
