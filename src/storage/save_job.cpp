#include "save_job.hpp"

#include <algorithm>
#include <future>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"
#include "physarum/base/logging.hpp"

#include "physarum/storage/commit.hpp"

#include "checkpoint_names.hpp"
#include "digest.hpp"
#include "pieces_of_work.hpp"
#include "rest_digest.hpp"
#include "save_notes.hpp"

namespace physarum::storage {

namespace {

std::filesystem::path file_of(const SaveJob& job) { return job.attempt / checkpoint_file_name; }

/// Sums per share, kept apart by thread.
class ShareSums {
 public:
  ShareSums(std::size_t shares, int threads)
      : sums_(static_cast<std::size_t>(threads), std::vector<DigestSum>(shares)) {}
  void add(std::size_t share, int thread, const DigestSum& sum) {
    sums_[static_cast<std::size_t>(thread)][share].add(sum);
  }
  [[nodiscard]] DigestSum total(std::size_t share) const {
    DigestSum all;
    for (const auto& mine : sums_) all.add(mine[share]);
    return all;
  }

 private:
  std::vector<std::vector<DigestSum>> sums_;
};

/// The digest is taken from memory, piece by piece, just before the piece is written.
std::vector<WrittenShare> write_shares(const SaveJob& job, RangeFile& file) {
  std::vector<std::uint64_t> sizes;
  for (const auto& share : job.shares) sizes.push_back(share.bytes.size());
  ShareSums sums(sizes.size(), job.threads);
  for_pieces(cut(sizes), job.threads, [&](const Piece& piece, int thread) {
    const auto& share = job.shares[piece.part];
    const auto bytes = share.bytes.subspan(piece.begin, piece.bytes);
    sums.add(piece.part, thread, digest_blocks({share.begin + piece.begin, bytes}));
    file.write_at(job.manifest.bulk[share.dataset].offset + share.begin + piece.begin, bytes);
  });
  std::vector<WrittenShare> written;
  for (std::size_t i = 0; i < job.shares.size(); ++i) {
    const auto& share = job.shares[i];
    written.push_back({share.dataset, share.begin, share.bytes.size(), sums.total(i)});
  }
  return written;
}

void check_shares(const SaveJob& job, const std::vector<WrittenShare>& shares) {
  const auto file = job.files->open_ranges(file_of(job), RangeAccess::read);
  std::vector<std::uint64_t> sizes;
  for (const auto& share : shares) sizes.push_back(share.bytes);
  ShareSums sums(sizes.size(), job.threads);
  std::vector<base::Bytes> memory(static_cast<std::size_t>(job.threads), base::Bytes(piece_bytes));
  for_pieces(cut(sizes), job.threads, [&](const Piece& piece, int thread) {
    const auto& share = shares[piece.part];
    const auto bytes = std::span(memory[static_cast<std::size_t>(thread)]).first(piece.bytes);
    file->read_at(job.manifest.bulk.at(share.dataset).offset + share.begin + piece.begin, bytes);
    sums.add(piece.part, thread, digest_blocks({share.begin + piece.begin, bytes}));
  });
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const auto found = sums.total(i);
    if (found.low == shares[i].sum.low && found.high == shares[i].sum.high) continue;
    throw base::WorldError("read back", 0,
                           "'" + file_of(job).string() + "' does not hold what was written to '" +
                               job.manifest.bulk.at(shares[i].dataset).dataset.name + "'");
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
    commit_text(files, job.directory / latest_file_name, checkpoint_name(job.manifest.step) + "\n");
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
