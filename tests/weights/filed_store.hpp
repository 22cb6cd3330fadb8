#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "physarum/base/error.hpp"

#include "physarum/weights/weight_directory.hpp"

#include "memory_store.hpp"
#include "support/scripted_file_system.hpp"
#include "version_writer.hpp"
#include "weight_file_name.hpp"

namespace physarum::weights::test {

/// A store of two buffer ranks whose versions go into a directory.
class FiledStore {
 public:
  static constexpr double sparse_density = 0.002;

  explicit FiledStore(UpdateMode mode, std::int64_t full_interval = 0, std::int64_t ring = 4)
      : options(options_for(mode, full_interval, ring)), store(options, buffers, sparse_density) {
    std::string name =
        (std::filesystem::temp_directory_path() / "physarum-weights-XXXXXX").string();
    directory = ::mkdtemp(name.data());
    for (int buffer = 0; buffer < buffers; ++buffer) {
      const auto index = static_cast<std::size_t>(buffer);
      writers.push_back(std::make_unique<VersionWriter>(
          store.layout, buffer, store.windows[index].span(), store.buffer_access,
          store.catalogue->hash(), files, directory));
      store.stores[index] = std::make_unique<WeightStore>(std::make_unique<WeightStore::Impl>(
          store.layout, buffer, store.windows[index].span(), store.buffer_access,
          [this, index](base::WeightVersion version) {
            return writers[index]->has_taken(version);
          }));
    }
  }
  ~FiledStore() {
    writers.clear();
    std::filesystem::remove_all(directory);
  }
  FiledStore(const FiledStore&) = delete;
  FiledStore& operator=(const FiledStore&) = delete;

  static WeightOptions options_for(UpdateMode mode, std::int64_t interval, std::int64_t ring) {
    auto options = options_of(mode, TransferType::bf16, ring);
    options.full_interval = interval;
    return options;
  }
  void write(int buffer) {
    auto& writer = *writers[static_cast<std::size_t>(buffer)];
    while (!writer.finished()) {
      if (!writer.advance()) std::this_thread::yield();
    }
  }
  void write_all() {
    for (int buffer = 0; buffer < buffers; ++buffer) write(buffer);
    store.fold_all();
  }
  void publish_and_write(std::int64_t version) {
    store.publish(version);
    write_all();
  }
  [[nodiscard]] LoadedWeights load() const {
    return load_newest_weights(storage::real_file_system(), directory, store.catalogue);
  }
  [[nodiscard]] std::string refusal(const CataloguePtr& catalogue) const {
    try {
      (void)load_newest_weights(storage::real_file_system(), directory, catalogue);
    } catch (const base::UserError& error) {
      return error.what();
    }
    return "loaded";
  }
  [[nodiscard]] bool holds(std::int64_t version) const {
    const auto loaded = load();
    return loaded.unusable.empty() && store.same_as(version, loaded.image, sparse_density);
  }
  [[nodiscard]] std::vector<WeightFileName> names() const {
    return list_weight_files(storage::real_file_system(), directory);
  }
  [[nodiscard]] std::int64_t count(int part, bool full) const {
    const auto all = names();
    return std::count_if(all.begin(), all.end(), [&](const WeightFileName& one) {
      return one.part == part && one.is_full() == full;
    });
  }

  static constexpr int buffers = 2;
  WeightOptions options;
  MemoryStore store;
  std::filesystem::path directory;
  physarum::test::ScriptedFileSystem files;  // of the writers
  std::vector<std::unique_ptr<VersionWriter>> writers;
};

inline void flip(const std::filesystem::path& path, std::uint64_t place, int bit) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(place));
  const int byte = file.get() ^ (1 << bit);
  file.seekp(static_cast<std::streamoff>(place));
  file.put(static_cast<char>(byte));
}

/// Where the first delta frame begins.
inline std::uint64_t place_of_frames(const std::filesystem::path& path) {
  const std::string all = storage::real_file_system().read_file(path);
  const auto place = all.find("PHWG");
  EXPECT_NE(place, std::string::npos);
  return place;
}

}  // namespace physarum::weights::test
