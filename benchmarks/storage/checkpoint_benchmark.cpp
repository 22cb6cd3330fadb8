// checkpoint_benchmark WHAT DIRECTORY [MEGABYTES]: seconds of one thing, alone on a line.
//   write        a checkpoint: digests, sync, read back, manifest, rename
//   write-plain  the same bytes into a new file, fsync, and a rename over the one before
//   read         the checkpoint, verified, into memory
//   read-plain   the same file into memory
//   memory       peak memory that a background save adds, as a multiple of what is saved
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "physarum/base/deadline.hpp"

#include "physarum/parallel/session.hpp"

#include "physarum/storage/checkpoint_writer.hpp"

namespace {

using namespace physarum;
using storage::BulkDataset;

/// Sizes as in a transformer: most of the bytes in some large matrices, many small vectors.
struct State {
  explicit State(std::size_t megabytes) {
    std::size_t left = megabytes * 1'000'000 / sizeof(float);
    for (std::size_t i = 0; left > 0; ++i) {
      const std::size_t size = std::min(left, i % 3 == 2 ? std::size_t{1536} : 512 * 4 * 1536UL);
      values.emplace_back(size);
      std::iota(values.back().begin(), values.back().end(), static_cast<float>(i));
      datasets.push_back({"weights/layer." + std::to_string(i), storage::Element::f32, {size}});
      left -= size;
    }
  }
  [[nodiscard]] storage::CheckpointContent content() const {
    std::vector<std::span<const std::byte>> whole;
    for (const auto& one : values) whole.push_back(std::as_bytes(std::span(one)));
    storage::CheckpointContent made;
    made.step = 1;
    made.bulk = datasets;
    made.shares = storage::split_evenly(made.bulk, whole, 0, 1);
    return made;
  }
  std::vector<std::vector<float>> values;
  std::vector<BulkDataset> datasets;
};

constexpr std::size_t piece = 4 << 20;

double write_plain(const std::string& path, const State& state) {
  const base::Stopwatch watch;
  const std::string fresh = path + ".new";
  const int file = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  for (const auto& one : state.values) {
    const auto bytes = std::as_bytes(std::span(one));
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      const auto part = bytes.subspan(at, std::min(piece, bytes.size() - at));
      if (::write(file, part.data(), part.size()) != static_cast<ssize_t>(part.size()))
        std::abort();
    }
  }
  if (::fsync(file) != 0) std::abort();
  ::close(file);
  if (std::rename(fresh.c_str(), path.c_str()) != 0) std::abort();
  return watch.seconds();
}

double read_plain(const std::string& path, State& state) {
  const base::Stopwatch watch;
  const int file = ::open(path.c_str(), O_RDONLY);
  for (auto& one : state.values) {
    const auto bytes = std::as_writable_bytes(std::span(one));
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      const auto part = bytes.subspan(at, std::min(piece, bytes.size() - at));
      if (::read(file, part.data(), part.size()) <= 0) std::abort();
    }
  }
  ::close(file);
  return watch.seconds();
}

double write(const std::string& directory, const State& state, storage::SaveMode mode) {
  const parallel::Communicator alone;
  const base::Stopwatch watch;
  storage::CheckpointWriter writer(storage::real_file_system(), {directory, 1, 600}, alone);
  writer.begin(state.content(), mode);
  writer.wait();
  if (!writer.take_outcomes().at(0).good) std::abort();
  return watch.seconds();
}

double read(const std::string& directory, State& state) {
  const base::Stopwatch watch;
  const storage::CheckpointReader reader(storage::real_file_system(), directory + "/step-1");
  for (std::size_t i = 0; i < state.values.size(); ++i)
    reader.read(state.datasets[i].name, state.datasets[i].extent, std::span(state.values[i]));
  return watch.seconds();
}

double peak_bytes() {
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

double memory(const std::string& directory, const State& state, std::size_t megabytes) {
  const double before = peak_bytes();
  (void)write(directory, state, storage::SaveMode::background);
  return (peak_bytes() - before) / (static_cast<double>(megabytes) * 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string what = argv[1], directory = argv[2];
  const std::size_t megabytes = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 600;
  State state(megabytes);
  const std::string plain = directory + "/plain";
  const double value = what == "write"         ? write(directory, state, storage::SaveMode::wait)
                       : what == "write-plain" ? write_plain(plain, state)
                       : what == "read"        ? read(directory, state)
                       : what == "read-plain"  ? read_plain(plain, state)
                                               : memory(directory, state, megabytes);
  std::printf("%.4f\n", value);
  return 0;
}
