#include <algorithm>
#include <charconv>

#include "physarum/base/contracts.hpp"

#include "physarum/storage/checkpoint.hpp"

#include "digest.hpp"
#include "file_impl.hpp"
#include "pieces_of_work.hpp"
#include "rest_digest.hpp"

namespace physarum::storage {

namespace {

constexpr std::string_view step_prefix = "step-";
constexpr std::uint64_t most_manifest_bytes = 256 << 20;

std::string read_manifest(FileSystem& files, const std::filesystem::path& path) {
  try {
    if (!files.exists(path)) throw DamagedCheckpoint("there is no manifest", path.string());
    if (files.file_bytes(path) > most_manifest_bytes)
      throw DamagedCheckpoint("the manifest is too large to be one", path.string());
    return files.read_file(path);
  } catch (const base::WorldError& error) {
    throw DamagedCheckpoint(std::string("it cannot be read: ") + error.what(), path.string());
  }
}

std::unique_ptr<RangeFile> open_checked(FileSystem& files, const std::filesystem::path& path,
                                        std::uint64_t bytes) {
  try {
    if (!files.exists(path)) throw DamagedCheckpoint("there is no such file", path.string());
    const std::uint64_t found = files.file_bytes(path);
    if (found != bytes) {
      throw DamagedCheckpoint(
          "the file has " + std::to_string(found) + " bytes, not " + std::to_string(bytes),
          path.string());
    }
    return files.open_ranges(path, RangeAccess::read);
  } catch (const base::WorldError& error) {
    throw DamagedCheckpoint(std::string("it cannot be read: ") + error.what(), path.string());
  }
}

}  // namespace

Format checkpoint_format() { return {"physarum.checkpoint", 2}; }

std::string checkpoint_name(std::int64_t step) {
  return std::string(step_prefix) + std::to_string(step);
}

std::vector<std::int64_t> list_checkpoints(FileSystem& files,
                                           const std::filesystem::path& directory) {
  std::vector<std::int64_t> steps;
  for (const auto& name : files.list(directory)) {
    if (!name.starts_with(step_prefix)) continue;
    std::int64_t step = -1;
    const char* const end = name.data() + name.size();
    const auto parsed = std::from_chars(name.data() + step_prefix.size(), end, step);
    // Whatever else is in the name makes it an attempt or a checkpoint that was set aside.
    if (parsed.ec == std::errc{} && parsed.ptr == end && step >= 0) steps.push_back(step);
  }
  std::ranges::sort(steps, std::greater{});
  return steps;
}

bool is_checkpoint(FileSystem& files, const std::filesystem::path& path) {
  return files.exists(path / manifest_file_name) || files.exists(path / checkpoint_file_name);
}

CheckpointReader::CheckpointReader(FileSystem& files, std::filesystem::path step_directory)
    : path_(step_directory / checkpoint_file_name) {
  const auto manifest_path = step_directory / manifest_file_name;
  manifest_ =
      CheckpointManifest::from_text(read_manifest(files, manifest_path), manifest_path.string());
  ranges_ = open_checked(files, path_, manifest_.file_bytes);
  // What lies between the bulk data is little and far apart: read ahead from there, and the whole
  // file would be read in the slowest order there is.
  ranges_->expect(ReadOrder::scattered);
  verify_rest();
  ranges_->expect(ReadOrder::sequential);
  // HDF5 sees only what its writer wrote.
  file_ = open_verified(path_, checkpoint_format());
}

const BulkPlace* CheckpointReader::find(std::string_view name) const {
  const auto found = std::ranges::find(manifest_.bulk, name,
                                       [](const BulkPlace& place) { return place.dataset.name; });
  return found == manifest_.bulk.end() ? nullptr : &*found;
}

void CheckpointReader::verify_rest() const {
  std::string found;
  try {
    found = digest_rest(*ranges_, manifest_.bulk, manifest_.file_bytes);
  } catch (const base::WorldError& error) {
    throw DamagedCheckpoint(std::string("it cannot be read: ") + error.what(), path_.string());
  }
  if (found != manifest_.rest_digest)
    throw DamagedCheckpoint("the file does not have its digest", path_.string());
}

/// In order and by one thread: while it hashes, the kernel reads ahead. Two readers make that
/// stumble: from disk they are slower, though from the page cache faster.
template <class Memory>
void CheckpointReader::read_place(const BulkPlace& place, const Memory& memory) const {
  const std::string where = path_.string() + ":" + place.dataset.name;
  const std::uint64_t size = place.dataset.bytes();
  DigestSum sum;
  try {
    for (const Piece& piece : cut({size})) {
      const std::span<std::byte> bytes = memory(piece);
      ranges_->read_at(place.offset + piece.begin, bytes);
      sum.add(digest_blocks({piece.begin, bytes}));
    }
  } catch (const base::WorldError& error) {
    throw DamagedCheckpoint(std::string("it cannot be read: ") + error.what(), where);
  }
  if (sum.text(size) != place.digest)
    throw DamagedCheckpoint("the data does not have its digest", where);
}

void CheckpointReader::read_raw(std::string_view name, Element element, const Extent& extent,
                                std::span<std::byte> values) const {
  const std::string where = path_.string() + ":" + std::string(name);
  const BulkPlace* place = find(name);
  if (place == nullptr) {
    throw base::UserError("the checkpoint has no such data", where,
                          "load a checkpoint of this model");
  }
  if (place->dataset.element != element || place->dataset.extent != extent) {
    throw base::UserError("the checkpoint has it in another shape", where,
                          "load a checkpoint of this model");
  }
  base::expects(place->dataset.bytes() == values.size(), "memory has the dataset's size");
  read_place(*place, [&](const Piece& piece) { return values.subspan(piece.begin, piece.bytes); });
}

void CheckpointReader::verify() const {
  base::Bytes memory(piece_bytes);
  for (const auto& place : manifest_.bulk)
    read_place(place, [&](const Piece& piece) { return std::span(memory).first(piece.bytes); });
}

}  // namespace physarum::storage
