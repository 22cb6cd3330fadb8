#include "save_job.hpp"

#include <algorithm>
#include <future>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"
#include "physarum/base/logging.hpp"

#include "physarum/storage/commit.hpp"

#include "checkpoint_names.hpp"
#include "digest.hpp"
#include "rest_digest.hpp"
#include "save_notes.hpp"

namespace physarum::storage {

namespace {

std::filesystem::path file_of(const SaveJob& job) { return job.attempt / checkpoint_file_name; }

/// The digest is taken from memory, piece by piece, just before the piece is written.
std::vector<WrittenShare> write_shares(const SaveJob& job, RangeFile& file) {
  std::vector<WrittenShare> written;
  for (const auto& share : job.shares) {
    WrittenShare done{share.dataset, share.begin, share.bytes.size(), {}};
    const std::uint64_t offset = job.manifest.bulk[share.dataset].offset + share.begin;
    for (std::uint64_t at = 0; at < share.bytes.size(); at += piece_bytes) {
      const auto piece = share.bytes.subspan(at, std::min(piece_bytes, share.bytes.size() - at));
      done.sum.add(digest_blocks({share.begin + at, piece}));
      file.write_at(offset + at, piece);
    }
    written.push_back(done);
  }
  return written;
}

void check_shares(const SaveJob& job, const std::vector<WrittenShare>& shares) {
  const auto file = job.files->open_ranges(file_of(job), RangeAccess::read);
  base::Bytes piece;
  for (const auto& share : shares) {
    DigestSum sum;
    const auto& place = job.manifest.bulk.at(share.dataset);
    for (std::uint64_t at = 0; at < share.bytes; at += piece.size()) {
      piece.resize(std::min(piece_bytes, share.bytes - at));
      file->read_at(place.offset + share.begin + at, piece);
      sum.add(digest_blocks({share.begin + at, piece}));
    }
    if (sum.low == share.sum.low && sum.high == share.sum.high) continue;
    throw base::WorldError("read back", 0,
                           "'" + file_of(job).string() + "' does not hold what was written to '" +
                               place.dataset.name + "'");
  }
}

/// One rank alone reads back while the disk is still busy with what it wrote.
std::vector<WrittenShare> write_alone(const SaveJob& job) {
  const auto file = job.files->open_ranges(file_of(job), RangeAccess::write);
  auto written = write_shares(job, *file);
  auto synced = std::async(std::launch::async, [&file] { file->sync(); });
  check_shares(job, written);
  synced.get();
  return written;
}

std::vector<WrittenShare> write_with_others(const SaveJob& job, const SaveNotes& notes) {
  const auto file = job.files->open_ranges(file_of(job), RangeAccess::write);
  auto written = write_shares(job, *file);
  file->sync();
  notes.leave(Stage::written, job.rank, written);
  check_shares(job, notes.await(Stage::written, (job.rank + 1) % job.ranks));
  notes.leave(Stage::checked, job.rank, {});
  return written;
}

std::vector<WrittenShare> await_all(const SaveJob& job, const SaveNotes& notes) {
  std::vector<WrittenShare> all;
  for (int rank = 0; rank < job.ranks; ++rank) {
    const auto shares = notes.await(Stage::written, rank);
    all.insert(all.end(), shares.begin(), shares.end());
    (void)notes.await(Stage::checked, rank);
  }
  return all;
}

void fill_digests(CheckpointManifest& manifest, std::vector<WrittenShare> all) {
  std::ranges::sort(all, [](const WrittenShare& a, const WrittenShare& b) {
    return std::pair(a.dataset, a.begin) < std::pair(b.dataset, b.begin);
  });
  std::vector<DigestSum> sums(manifest.bulk.size());
  std::vector<std::uint64_t> ends(manifest.bulk.size(), 0);
  for (const auto& share : all) {
    base::expects(ends.at(share.dataset) == share.begin, "shares cover a dataset once");
    ends[share.dataset] += share.bytes;
    sums[share.dataset].add(share.sum);
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const std::uint64_t bytes = manifest.bulk[i].dataset.bytes();
    base::expects(ends[i] == bytes, "shares cover a dataset whole");
    manifest.bulk[i].digest = sums[i].text(bytes);
  }
}

/// From here on the checkpoint is complete or it is not there.
void publish(const SaveJob& job) {
  auto& files = *job.files;
  const auto target = job.directory / checkpoint_name(job.manifest.step);
  files.sync_directory(job.attempt);
  // A damaged checkpoint of this step may be in the way; the run that resumed before it knows.
  if (files.exists(target)) files.rename(target, trash_path(job.attempt));
  files.rename(job.attempt, target);
  files.sync_directory(job.directory);
}

/// What is over the number that is kept goes; a checkpoint that goes is first no checkpoint.
void prune(const SaveJob& job) {
  if (job.keep <= 0) return;
  auto& files = *job.files;
  const auto steps = list_checkpoints(files, job.directory);
  for (auto i = static_cast<std::size_t>(job.keep); i < steps.size(); ++i) {
    const auto trash = trash_path(job.attempt);
    files.rename(job.directory / checkpoint_name(steps[i]), trash);
    files.remove_tree(trash);
  }
}

void complete(const SaveJob& job, std::vector<WrittenShare> all) {
  auto& files = *job.files;
  auto manifest = job.manifest;
  fill_digests(manifest, std::move(all));
  std::ranges::sort(manifest.bulk, {}, &BulkPlace::offset);
  const auto file = files.open_ranges(file_of(job), RangeAccess::read);
  manifest.file_bytes = files.file_bytes(file_of(job));
  manifest.rest_digest = digest_rest(*file, manifest.bulk, manifest.file_bytes);
  commit_text(files, job.attempt / manifest_file_name, manifest.to_text());
  publish(job);
  try {
    commit_text(files, job.directory / latest_file_name,
                checkpoint_name(job.manifest.step) + "\n");
    files.remove_tree(trash_path(job.attempt));
    prune(job);
  } catch (const base::WorldError& error) {
    base::log_warning(std::string("the checkpoint is complete, but: ") + error.what());
  }
}

}  // namespace

void run_save(const SaveJob& job) {
  const SaveNotes notes(*job.files, job.attempt, job.timeout_s);
  if (job.ranks == 1) return complete(job, write_alone(job));
  (void)write_with_others(job, notes);
  if (job.rank != 0) return;
  auto all = await_all(job, notes);
  notes.clear(job.ranks);
  complete(job, std::move(all));
}

void give_up_save(const SaveJob& job, const std::string& why) noexcept {
  try {
    job.files->truncate(file_of(job), 0);
  } catch (const std::exception&) {
    // It may be gone already.
  }
  if (job.ranks > 1) SaveNotes(*job.files, job.attempt, job.timeout_s).give_up(why);
}

}  // namespace physarum::storage
