#include "physarum/storage/checkpoint_writer.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <utility>

#include <sys/resource.h>
#include <unistd.h>

#include "physarum/base/bytes.hpp"
#include "physarum/base/contracts.hpp"
#include "physarum/base/deadline.hpp"
#include "physarum/base/host.hpp"
#include "physarum/base/logging.hpp"

#include "physarum/parallel/wait.hpp"

#include "checkpoint_names.hpp"
#include "pieces_of_work.hpp"
#include "save_job.hpp"

namespace physarum::storage {

namespace {

/// A background writer yields to the training on the same core.
void step_back() noexcept { (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 10); }

/// What the first rank tells the others before they write.
struct Start {
  bool good = false;
  std::string text;  ///< the failure, or the attempt's directory
  std::vector<std::uint64_t> offsets;

  [[nodiscard]] std::string encode() const {
    base::ByteWriter out;
    out.put(good);
    out.put_string(text);
    out.put_vector(offsets);
    const auto bytes = out.take();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  [[nodiscard]] static Start decode(const std::string& bytes) {
    base::ByteReader in(std::as_bytes(std::span(bytes)));
    Start start;
    start.good = in.get<bool>();
    start.text = in.get_string();
    start.offsets = in.get_vector<std::uint64_t>();
    return start;
  }
};

}  // namespace

struct CheckpointWriter::Impl {
  Impl(FileSystem& its_files, WriterOptions its_options, const parallel::Communicator& its_writers)
      : files(its_files), options(std::move(its_options)), writers(its_writers) {}

  [[nodiscard]] bool first() const { return writers.rank() == 0; }
  Start start(const CheckpointContent& content);
  void lay_out(const CheckpointContent& content, const std::filesystem::path& attempt,
               std::vector<std::uint64_t>& offsets);
  void require_room(const CheckpointContent& content);
  std::vector<BulkShare> copy(const std::vector<BulkShare>& shares);
  void launch(SaveJob job, SaveMode mode);
  void work(const SaveJob& job);
  void fail(const SaveJob& job, const std::string& why);
  void join();

  FileSystem& files;
  WriterOptions options;
  const parallel::Communicator& writers;
  std::int64_t attempts = 0;
  std::unique_ptr<std::byte[]> staging;  ///< kept: fresh memory costs more than the copy
  std::uint64_t staging_bytes = 0;
  std::thread thread;
  std::atomic<bool> running{false};
  base::Stopwatch watch;
  SaveOutcome outcome;   ///< the thread's until it has ended
  bool pending = false;  ///< an outcome is not collected yet
  std::vector<SaveOutcome> outcomes;
};

void CheckpointWriter::Impl::require_room(const CheckpointContent& content) {
  std::uint64_t needed = 16 << 20;
  for (const auto& dataset : content.bulk) needed += dataset.bytes() + dataset.bytes() / 10;
  const std::uint64_t free = files.free_bytes(options.directory);
  if (free >= needed) return;
  throw base::WorldError("statvfs", ENOSPC,
                         "the disk of '" + options.directory.string() + "' has " +
                             std::to_string(free >> 20) + " MiB left, a checkpoint needs " +
                             std::to_string(needed >> 20));
}

void CheckpointWriter::Impl::lay_out(const CheckpointContent& content,
                                     const std::filesystem::path& attempt,
                                     std::vector<std::uint64_t>& offsets) {
  static const parallel::Communicator alone;
  // Together, and not between the weights: they are read first, and whole.
  constexpr std::uint64_t metadata_block_bytes = 1 << 20;
  auto file = File::create(attempt / checkpoint_file_name, alone, checkpoint_format(),
                           metadata_block_bytes);
  try {
    file.set_attribute("", "step", content.step);
    file.set_attribute("", "weight_version", content.weight_version);
    file.set_attribute("", "program_version", std::string_view(content.program_version));
    if (content.rest) content.rest(file);
    for (const auto& dataset : content.bulk) {
      offsets.push_back(file.reserve_dataset(dataset.name, dataset.element, dataset.extent));
    }
    file.flush();
    file.close();
  } catch (...) {
    file.abandon();
    throw;
  }
}

Start CheckpointWriter::Impl::start(const CheckpointContent& content) {
  Start begun;
  std::filesystem::path attempt;
  try {
    attempt = options.directory / (std::string(attempt_prefix) + std::to_string(content.step) +
                                   "-" + base::host_name() + "-" + std::to_string(::getpid()) +
                                   "-" + std::to_string(attempts++));
    files.make_directories(attempt);
    require_room(content);
    lay_out(content, attempt, begun.offsets);
    begun.good = true;
    begun.text = attempt.string();
  } catch (const base::ContractViolation&) {
    throw;
  } catch (const std::exception& error) {
    begun = {false, error.what(), {}};
    try {
      files.remove_tree(attempt);
    } catch (const std::exception& left) {
      base::log_warning(std::string("a temporary directory stays: ") + left.what());
    }
  }
  return begun;
}

std::vector<BulkShare> CheckpointWriter::Impl::copy(const std::vector<BulkShare>& shares) {
  std::uint64_t total = 0;
  for (const auto& share : shares) total += share.bytes.size();
  if (total > staging_bytes) {
    staging.reset();
    staging = std::make_unique_for_overwrite<std::byte[]>(total);
    staging_bytes = total;
  }
  auto copies = shares;
  std::vector<std::uint64_t> sizes;
  std::uint64_t at = 0;
  for (auto& share : copies) {
    sizes.push_back(share.bytes.size());
    share.bytes = {staging.get() + at, share.bytes.size()};
    at += share.bytes.size();
  }
  // The caller waits for nothing but this.
  for_pieces(cut(sizes), idle_threads(), [&](const Piece& piece, int) {
    const auto to = static_cast<std::size_t>(copies[piece.part].bytes.data() - staging.get());
    std::memcpy(staging.get() + to + piece.begin, shares[piece.part].bytes.data() + piece.begin,
                piece.bytes);
  });
  return copies;
}

void CheckpointWriter::Impl::fail(const SaveJob& job, const std::string& why) {
  outcome.text = why;
  give_up_save(job, why);
  if (!first()) return;
  try {
    files.remove_tree(job.attempt);
  } catch (const std::exception& error) {
    base::log_warning(std::string("a temporary directory stays: ") + error.what());
  }
}

void CheckpointWriter::Impl::work(const SaveJob& job) {
  try {
    run_save(job);
    outcome.good = true;
  } catch (const std::exception& error) {
    fail(job, error.what());
  }
  outcome.seconds = watch.seconds();
}

void CheckpointWriter::Impl::launch(SaveJob job, SaveMode mode) {
  pending = true;
  running = true;
  thread = std::thread([this, mode, job = std::move(job)] {
    if (mode == SaveMode::background) step_back();
    work(job);
    running = false;
  });
}

void CheckpointWriter::Impl::join() {
  if (!pending) return;
  if (thread.joinable()) thread.join();
  pending = false;
  if (first()) outcomes.push_back(outcome);
}

CheckpointWriter::CheckpointWriter(FileSystem& files, WriterOptions options,
                                   const parallel::Communicator& writers)
    : impl_(std::make_unique<Impl>(files, std::move(options), writers)) {}

CheckpointWriter::~CheckpointWriter() { impl_->join(); }

void CheckpointWriter::begin(const CheckpointContent& content, SaveMode mode) {
  auto& impl = *impl_;
  wait();
  impl.watch.restart();
  std::string told;
  if (impl.first()) told = impl.start(content).encode();
  impl.writers.broadcast_string(told, 0);
  const auto begun = Start::decode(told);
  impl.outcome = {};
  impl.outcome.step = content.step;
  impl.outcome.path = impl.options.directory / checkpoint_name(content.step);
  impl.pending = true;
  if (!begun.good) {
    impl.outcome.text = begun.text;
    return impl.join();
  }
  SaveJob job{.files = &impl.files,
              .directory = impl.options.directory,
              .attempt = begun.text,
              .rank = impl.writers.rank(),
              .ranks = impl.writers.size(),
              .timeout_s = impl.options.timeout_s,
              .keep = impl.options.keep,
              .threads = mode == SaveMode::wait ? idle_threads() : 1,
              .shares = mode == SaveMode::wait ? content.shares : impl.copy(content.shares),
              .manifest = {.step = content.step,
                           .weight_version = content.weight_version,
                           .program_version = content.program_version,
                           .written = base::utc_now(),
                           .hosts = content.hosts,
                           .file_bytes = 0,
                           .rest_digest = {},
                           .bulk = {}}};
  for (std::size_t i = 0; i < content.bulk.size(); ++i) {
    job.manifest.bulk.push_back({content.bulk[i], begun.offsets[i], {}});
    impl.outcome.bytes += content.bulk[i].bytes();
  }
  impl.launch(std::move(job), mode);
  if (mode == SaveMode::background) return;
  wait();
}

void CheckpointWriter::wait() {
  auto& impl = *impl_;
  if (!impl.pending) return;
  const parallel::Phase phase("save checkpoint");
  const auto limit = base::Deadline::in(10 * impl.options.timeout_s);
  if (!parallel::wait_until([&] { return !impl.running; }, limit)) {
    parallel::throw_deadline("the checkpoint's writer", impl.outcome.path.string(), limit);
  }
  impl.join();
}

std::vector<SaveOutcome> CheckpointWriter::take_outcomes() {
  if (impl_->pending && !impl_->running) impl_->join();
  return std::exchange(impl_->outcomes, {});
}

}  // namespace physarum::storage
