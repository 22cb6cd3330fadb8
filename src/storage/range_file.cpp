#include "range_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

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
    if (order_ == ReadOrder::sequential) ask_ahead(offset + bytes.size());
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
    order_ = order;
    asked_until_ = 0;
  }

  void sync() override {
    if (::fsync(file_.get()) != 0) fail("fsync", errno);
  }

 private:
  /// What is read next comes from the disk while the caller works on what it has: the kernel's own
  /// window is often too small for that. Asking has no answer, and may be ignored.
  void ask_ahead(std::uint64_t position) {
    constexpr std::uint64_t window = std::uint64_t{64} << 20;
    if (position + window / 2 < asked_until_) return;
    const std::uint64_t from = std::max(position, asked_until_);
    asked_until_ = position + window;
    (void)::posix_fadvise(file_.get(), static_cast<off_t>(from),
                          static_cast<off_t>(asked_until_ - from), POSIX_FADV_WILLNEED);
  }
  [[noreturn]] void fail(const char* call, int code) const {
    throw base::WorldError(std::string(call) + " on '" + path_.string() + "'", code,
                           std::strerror(code));
  }
  FileSystem::Path path_;
  Descriptor file_;
  std::optional<ReadOrder> order_;
  std::uint64_t asked_until_ = 0;
};

}  // namespace

std::unique_ptr<RangeFile> open_real_ranges(const FileSystem::Path& path, RangeAccess access) {
  return std::make_unique<RealRanges>(path, access);
}

}  // namespace physarum::storage
