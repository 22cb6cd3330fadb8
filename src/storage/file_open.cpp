#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "physarum/base/contracts.hpp"

#include "file_impl.hpp"
#include "rehearsal.hpp"

namespace physarum::storage {

namespace {
constexpr std::array<unsigned char, 8> signature{0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
constexpr const char* write_again = "take another file, or write it again";

/// What can be said without HDF5; returns the size. Its library is not made for foreign files, so
/// it sees only what looks like one.
std::uint64_t inspect(const File::Impl& file) {
  struct stat status {};
  if (::stat(file.path.c_str(), &status) != 0) {
    file.refuse("", errno == ENOENT ? "there is no such file" : std::strerror(errno),
                "check the path");
  }
  if (!S_ISREG(status.st_mode)) file.refuse("", "this is not a file", "check the path");
  if (status.st_size == 0) {
    file.refuse("", "the file is empty; its writer was stopped before it could write", write_again);
  }
  const int descriptor = ::open(file.path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) file.refuse("", std::strerror(errno), "check the permissions");
  std::array<unsigned char, 8> start{};
  const auto got = ::read(descriptor, start.data(), start.size());
  ::close(descriptor);
  if (got != static_cast<ssize_t>(start.size()) || start != signature) {
    file.refuse("", "this is not an HDF5 file", "check the path");
  }
  return static_cast<std::uint64_t>(status.st_size);
}

void require_format(const File& file, const Format& expected) {
  const Format found = file.format();
  const std::string where = file.path().string();
  if (found.name != expected.name) {
    const std::string kind =
        found.name.empty() ? "a file that does not say its format" : "a '" + found.name + "' file";
    throw base::UserError("this is " + kind + ", not a '" + expected.name + "' file", where,
                          "check the path");
  }
  if (found.version < 1 || found.version > expected.version) {
    throw base::UserError("'" + found.name + "' version " + std::to_string(found.version) +
                              " is not known here (newest: " + std::to_string(expected.version) +
                              ")",
                          where, "use the Physarum that wrote it, or a newer one");
  }
}
}  // namespace

std::unique_ptr<File::Impl> open_unrehearsed(const std::filesystem::path& path) {
  start_hdf5();
  auto impl = std::make_unique<File::Impl>();
  impl->path = path;
  impl->bytes = inspect(*impl);
  auto access = make_properties(H5P_FILE_ACCESS);
  check_status(H5Pset_file_locking(access.get(), 1, 1), "H5Pset_file_locking", path.string());
  const hid_t opened = H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get());
  if (opened < 0) {
    impl->refuse("", "the file is damaged or was not finished (" + hdf5_error() + ")", write_again);
  }
  impl->handle = FileHandle(opened);
  return impl;
}

File open_verified(const std::filesystem::path& path, const Format& format) {
  File file(open_unrehearsed(path));
  require_format(file, format);
  return file;
}

File File::open_any(const std::filesystem::path& path) {
  File::Impl candidate;
  candidate.path = path;
  (void)inspect(candidate);
  if (rehearse_reading(path) == Rehearsal::died) {
    candidate.refuse("", "the file is damaged", write_again);
  }
  return File(open_unrehearsed(path));
}

File File::open_read(const std::filesystem::path& path, const Format& format) {
  File file = open_any(path);
  require_format(file, format);
  return file;
}

File File::open_read(const std::filesystem::path& path, const Format& format,
                     const parallel::Communicator& comm) {
  // One rank tries it; the others follow if it lives.
  File file;
  parallel::together(comm, [&] {
    if (comm.rank() == 0) file = open_read(path, format);
  });
  parallel::together(comm, [&] {
    if (comm.rank() == 0) return;
    file = File(open_unrehearsed(path));
    require_format(file, format);
  });
  return file;
}

Format File::format() const {
  base::expects(valid(), "the file is open");
  Format found{"", 0};
  if (const auto name = read_text_attribute(*impl_, "", format_attribute)) found.name = *name;
  if (has_attribute("", version_attribute)) {
    found.version = integer_attribute("", version_attribute);
  }
  return found;
}

}  // namespace physarum::storage
