#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "physarum/storage/file_system.hpp"

#include "puller_impl.hpp"
#include "weight_file.hpp"
#include "weight_file_name.hpp"

namespace physarum::weights {

/// An engine's puller with the carrier `file`: which version is the newest, and whether its files
/// are there, the words of the store say; the bytes come from the weight directory, where the
/// buffer ranks of this job write. What the files do not have (a disk was full, a file is damaged)
/// comes from the store.
class FilePuller final : public Puller::Impl {
 public:
  /// All of it outlives the puller.
  FilePuller(const StoreLayout& layout, StoreAccess& access, const WeightOptions& options,
             CataloguePtr catalogue, storage::FileSystem& files);

  void begin(Image& image, std::optional<base::WeightVersion> exactly) override;
  [[nodiscard]] bool active() const override { return shadow_ != nullptr || Impl::active(); }
  std::optional<PullResult> advance(std::int64_t budget_bytes,
                                    const base::Deadline& deadline) override;
  void abandon() override;

 private:
  enum class Stage { plan, arrive, open, read, apply, verify, done };

  void step(std::int64_t& budget, const base::Deadline& deadline);
  void run(Stage stage, std::int64_t& budget);
  [[noreturn]] void too_late(const base::Deadline& deadline);
  void plan();
  void arrive(std::int64_t& budget);
  [[nodiscard]] std::optional<int> buffer_that_writes();
  [[nodiscard]] bool find_files();
  void open();
  void read(std::int64_t& budget);
  void apply(std::int64_t& budget);
  void verify(std::int64_t& budget);
  void next_file();
  void finish(PullResult::Kind kind);
  void lost_race();
  void unusable(const std::string& why);
  void warn(const std::string& why) const;
  void take_from_store();
  std::optional<PullResult> advance_store(std::int64_t budget_bytes,
                                          const base::Deadline& deadline);
  [[nodiscard]] const WeightFileName& file() const { return queue_[next_]; }
  [[nodiscard]] Range part_bytes() const { return layout().shard(file().part); }

  CataloguePtr catalogue_;
  storage::FileSystem& files_;
  std::filesystem::path directory_;
  std::int64_t piece_bytes_;
  bool unseen_ = false;  // the last version that was looked for was not there, and that was told

  Image* shadow_ = nullptr;  // null: no pull, or one from the store
  std::optional<base::WeightVersion> wanted_;
  PullResult result_;  // of the files; of the store the base has one
  Stage stage_ = Stage::done;
  base::WeightVersion target_;
  parallel::Backoff backoff_;
  std::vector<WeightFileName> queue_;  // part by part, each in the order in which files follow
  std::size_t next_ = 0;
  std::optional<WeightFileReader> reader_;
  std::vector<std::byte> frames_;  // of the delta that is read or applied
  std::int64_t offset_ = 0;        // in its payload
  std::vector<base::Digest> digests_;
  std::int64_t next_block_ = 0;
};

}  // namespace physarum::weights
