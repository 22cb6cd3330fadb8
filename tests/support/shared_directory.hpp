#pragma once

#include <exception>
#include <filesystem>
#include <optional>
#include <string>

#include "physarum/parallel/communicator.hpp"

#include "support/temporary_directory.hpp"

namespace physarum::test {

/// One temporary directory for all ranks of a communicator; making and ending it is collective.
class SharedDirectory {
 public:
  explicit SharedDirectory(const parallel::Communicator& comm) : comm_(comm) {
    std::string name;
    if (comm.rank() == 0) name = made_.emplace().path().string();
    comm.broadcast_string(name, 0);
    path_ = name;
  }
  ~SharedDirectory() {
    // After a failure other ranks may never come; rank 0 removes it anyway.
    if (std::uncaught_exceptions() == 0 && comm_.intact()) comm_.barrier();
  }
  SharedDirectory(const SharedDirectory&) = delete;
  SharedDirectory& operator=(const SharedDirectory&) = delete;
  SharedDirectory(SharedDirectory&&) = delete;
  SharedDirectory& operator=(SharedDirectory&&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const {
    return path_ / name;
  }

 private:
  const parallel::Communicator& comm_;
  std::optional<TemporaryDirectory> made_;
  std::filesystem::path path_;
};

}  // namespace physarum::test
