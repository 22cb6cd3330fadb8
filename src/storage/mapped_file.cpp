#include "physarum/storage/mapped_file.hpp"

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"

#include "descriptor.hpp"

namespace physarum::storage {

namespace {

using Path = std::filesystem::path;

[[noreturn]] void refuse(const Path& path, const std::string& what, const char* mend) {
  throw base::UserError(what, path.string(), mend);
}

[[noreturn]] void fail(const char* call, const Path& path) {
  const int code = errno;
  throw base::WorldError(std::string(call) + " on '" + path.string() + "'", code,
                         std::strerror(code));
}

int open_for_reading(const Path& path) {
  // Not blocking: a pipe of that name must be refused below, not waited for.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) {
    refuse(path, std::string("cannot be read (") + std::strerror(errno) + ")",
           "check the path and its permissions");
  }
  return descriptor;
}

std::uint64_t size_of(int descriptor, const Path& path) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) fail("fstat", path);
  if (!S_ISREG(status.st_mode)) refuse(path, "is not a regular file", "give the path of a file");
  return static_cast<std::uint64_t>(status.st_size);
}

std::uint64_t page_bytes() {
  static const auto bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

struct Mapping {
  const std::byte* address = nullptr;
  std::uint64_t bytes = 0;
  friend bool operator==(const Mapping&, const Mapping&) = default;
};

struct MappingTraits {
  using value_type = Mapping;
  static constexpr base::ReleaseKind kind = base::ReleaseKind::local;
  static constexpr const char* name = "mapping of a file";
  static value_type null() { return {}; }
  static bool alive() noexcept { return true; }
  static void release(value_type mapping) {
    ::munmap(const_cast<std::byte*>(mapping.address), static_cast<std::size_t>(mapping.bytes));
  }
};

}  // namespace

struct MappedFile::Impl {
  Path path;
  Descriptor file;
  base::Handle<MappingTraits> mapping;
};

MappedFile::MappedFile(const Path& path) {
  Descriptor file(open_for_reading(path));
  const std::uint64_t bytes = size_of(file.get(), path);
  base::Handle<MappingTraits> mapping;
  if (bytes > 0) {
    void* address = ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ, MAP_PRIVATE,
                           file.get(), /*offset=*/0);
    if (address == MAP_FAILED) fail("mmap", path);
    mapping = base::Handle<MappingTraits>({static_cast<const std::byte*>(address), bytes});
  }
  impl_ = std::make_unique<Impl>(Impl{path, std::move(file), std::move(mapping)});
}

MappedFile::~MappedFile() = default;
MappedFile::MappedFile(MappedFile&&) noexcept = default;
MappedFile& MappedFile::operator=(MappedFile&&) noexcept = default;

const Path& MappedFile::path() const { return impl_->path; }

std::uint64_t MappedFile::size() const { return impl_->mapping.get().bytes; }

std::span<const std::byte> MappedFile::bytes(std::uint64_t offset, std::uint64_t count) const {
  base::expects(offset <= size() && count <= size() - offset, "the range lies inside the file");
  if (size_of(impl_->file.get(), impl_->path) < offset + count) {
    refuse(impl_->path, "ended while it was read", "do not change a file that is in use");
  }
  return {impl_->mapping.get().address + offset, static_cast<std::size_t>(count)};
}

void MappedFile::expect(std::uint64_t offset, std::uint64_t count) const noexcept {
  (void)::posix_fadvise(impl_->file.get(), static_cast<off_t>(offset), static_cast<off_t>(count),
                        POSIX_FADV_WILLNEED);
}

void MappedFile::release(std::uint64_t offset, std::uint64_t count) const noexcept {
  const std::uint64_t page = page_bytes();
  const std::uint64_t first = (offset + page - 1) / page * page;
  const std::uint64_t last = (offset + count) / page * page;
  if (last <= first) return;
  (void)::madvise(const_cast<std::byte*>(impl_->mapping.get().address + first),
                  static_cast<std::size_t>(last - first), MADV_DONTNEED);
}

}  // namespace physarum::storage
