#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "physarum/storage/file_system.hpp"

#include "digest.hpp"

namespace physarum::storage {

/// What one rank has written of one bulk dataset.
struct WrittenShare {
  std::uint64_t dataset = 0;
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
  DigestSum sum;
};

enum class Stage { written, checked };

/// How the threads that write one checkpoint tell one another how far they are: small files in its
/// temporary directory, renamed into place so that they are seen whole. Any thread.
class SaveNotes {
 public:
  SaveNotes(FileSystem& files, std::filesystem::path directory, double timeout_s)
      : files_(files), directory_(std::move(directory)), timeout_s_(timeout_s) {}

  void leave(Stage stage, int rank, const std::vector<WrittenShare>& shares) const;
  /// Waits for it. Throws WorldError if the save has failed elsewhere, DeadlineExceeded.
  [[nodiscard]] std::vector<WrittenShare> await(Stage stage, int rank) const;
  /// Tells all others that the save has failed. Does not throw.
  void give_up(const std::string& why) const noexcept;
  /// Removes what `ranks` ranks left.
  void clear(int ranks) const;

 private:
  [[nodiscard]] std::filesystem::path path(Stage stage, int rank) const;
  void put(const std::filesystem::path& path, std::string_view content) const;
  void stop_if_failed() const;
  FileSystem& files_;
  std::filesystem::path directory_;
  double timeout_s_;
};

}  // namespace physarum::storage
