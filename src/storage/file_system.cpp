#include "physarum/storage/file_system.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "physarum/base/error.hpp"

#include "range_file.hpp"

namespace physarum::storage {

namespace {
using Path = FileSystem::Path;

[[noreturn]] void fail(const char* call, const Path& path, int code) {
  throw base::WorldError(std::string(call) + " on '" + path.string() + "'", code,
                         std::strerror(code));
}

/// A place that is not ours to write in is the user's to choose better.
bool is_users_choice(int code) {
  return code == EACCES || code == EPERM || code == EROFS || code == ENOTDIR || code == EEXIST;
}

/// Opens, syncs, closes; the first error counts.
void sync_path(const Path& path, int flags) {
  const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC);
  if (descriptor < 0) fail("open", path, errno);
  const int code = ::fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  // Some file systems cannot sync a directory and say so; nothing more can be done there.
  if (code != 0 && code != EINVAL) fail("fsync", path, code);
}

class RealFileSystem final : public FileSystem {
 public:
  void rename(const Path& from, const Path& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) fail("rename", from, errno);
  }
  void sync_file(const Path& path) override { sync_path(path, O_RDONLY); }
  void sync_directory(const Path& path) override {
    sync_path(path.empty() ? Path(".") : path, O_RDONLY | O_DIRECTORY);
  }
  void remove(const Path& path) override {
    if (::remove(path.c_str()) != 0 && errno != ENOENT) fail("remove", path, errno);
  }
  void remove_tree(const Path& path) override {
    std::error_code code;
    std::filesystem::remove_all(path, code);
    if (code) fail("remove_all", path, code.value());
  }
  void truncate(const Path& path, std::uint64_t bytes) override {
    if (::truncate(path.c_str(), static_cast<off_t>(bytes)) != 0) fail("truncate", path, errno);
  }
  bool exists(const Path& path) override {
    std::error_code code;
    return std::filesystem::exists(path, code);
  }
  std::uint64_t file_bytes(const Path& path) override {
    std::error_code code;
    const auto bytes = std::filesystem::file_size(path, code);
    if (code) fail("stat", path, code.value());
    return bytes;
  }
  std::vector<std::string> list(const Path& directory) override {
    std::error_code code;
    std::filesystem::directory_iterator entries(directory, code);
    if (code && code.value() == ENOENT) return {};
    if (code) fail("opendir", directory, code.value());
    std::vector<std::string> names;
    for (const auto& entry : entries) names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  std::uint64_t free_bytes(const Path& directory) override {
    struct statvfs status {};
    if (::statvfs(directory.c_str(), &status) != 0) fail("statvfs", directory, errno);
    return static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
  }
  void make_directories(const Path& path) override {
    if (path.empty()) return;
    std::error_code code;
    std::filesystem::create_directories(path, code);
    if (!code) return;
    if (!is_users_choice(code.value())) fail("mkdir", path, code.value());
    throw base::UserError("the directory cannot be made: " + code.message(), path.string(),
                          "choose another place");
  }
  void write_file(const Path& path, std::string_view content) override {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (descriptor < 0) fail("open", path, errno);
    while (!content.empty()) {
      const auto written = ::write(descriptor, content.data(), content.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) {
        const int code = errno;
        ::close(descriptor);
        fail("write", path, code);
      }
      content.remove_prefix(static_cast<std::size_t>(written));
    }
    if (::close(descriptor) != 0) fail("close", path, errno);
  }
  std::string read_file(const Path& path) override {
    std::ifstream stream(path, std::ios::binary);
    std::ostringstream content;
    if (stream) content << stream.rdbuf();
    if (!stream || stream.bad()) fail("read", path, errno != 0 ? errno : EIO);
    return std::move(content).str();
  }
  std::unique_ptr<RangeFile> open_ranges(const Path& path, RangeAccess access) override {
    return open_real_ranges(path, access);
  }
};
}  // namespace

FileSystem& real_file_system() {
  static RealFileSystem files;
  return files;
}

}  // namespace physarum::storage
