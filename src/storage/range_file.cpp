#include "range_file.hpp"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "physarum/base/error.hpp"

#include "descriptor.hpp"

namespace physarum::storage {

namespace {

class RealRanges final : public RangeFile {
 public:
  RealRanges(FileSystem::Path path, RangeAccess access)
      : path_(std::move(path)),
        file_(
            ::open(path_.c_str(), (access == RangeAccess::read ? O_RDONLY : O_RDWR) | O_CLOEXEC)) {
    if (!file_.valid()) fail("open", errno);
  }

  void write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const auto written =
          ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail("pwrite", errno);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
      offset += static_cast<std::uint64_t>(written);
    }
  }

  void read_at(std::uint64_t offset, std::span<std::byte> bytes) override {
    while (!bytes.empty()) {
      const auto got = ::pread(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail("pread", errno);
      if (got == 0) throw base::WorldError("pread on '" + path_.string() + "'", 0, "it ends early");
      bytes = bytes.subspan(static_cast<std::size_t>(got));
      offset += static_cast<std::uint64_t>(got);
    }
  }

  void expect(ReadOrder order) override {
    const int advice = order == ReadOrder::scattered ? POSIX_FADV_RANDOM : POSIX_FADV_SEQUENTIAL;
    (void)::posix_fadvise(file_.get(), 0, 0, advice);
  }

  void sync() override {
    if (::fsync(file_.get()) != 0) fail("fsync", errno);
  }

 private:
  [[noreturn]] void fail(const char* call, int code) const {
    throw base::WorldError(std::string(call) + " on '" + path_.string() + "'", code,
                           std::strerror(code));
  }
  FileSystem::Path path_;
  Descriptor file_;
};

}  // namespace

std::unique_ptr<RangeFile> open_real_ranges(const FileSystem::Path& path, RangeAccess access) {
  return std::make_unique<RealRanges>(path, access);
}

}  // namespace physarum::storage
