#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "physarum/base/contracts.hpp"
#include "physarum/base/logging.hpp"

#include "physarum/parallel/native.hpp"
#include "physarum/parallel/session.hpp"

#include "file_impl.hpp"

namespace physarum::storage {

namespace {
/// The system's words for what is wrong with the place are better than HDF5's.
void require_writable(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor >= 0) {
    ::close(descriptor);
    return;
  }
  throw base::UserError(std::string("the file cannot be written: ") + std::strerror(errno),
                        path.string(), "choose another place");
}

// Larger pieces begin at a page of the file system, so that several writers share none.
constexpr std::uint64_t aligned_from_bytes = 64 << 10;
constexpr std::uint64_t alignment_bytes = 4096;

PropertiesHandle access_properties(const parallel::Communicator& comm,
                                   std::uint64_t metadata_block_bytes) {
  auto properties = make_properties(H5P_FILE_ACCESS);
  check_status(H5Pset_alignment(properties.get(), aligned_from_bytes, alignment_bytes),
               "H5Pset_alignment", "access");
  if (metadata_block_bytes > 0) {
    check_status(H5Pset_meta_block_size(properties.get(), metadata_block_bytes),
                 "H5Pset_meta_block_size", "access");
  }
  if (comm.size() == 1) {
    // Locks are best effort: some parallel file systems have none.
    check_status(H5Pset_file_locking(properties.get(), 1, 1), "H5Pset_file_locking", "access");
    return properties;
  }
  check_status(H5Pset_fapl_mpio(properties.get(), parallel::native(comm), MPI_INFO_NULL),
               "H5Pset_fapl_mpio", "access");
  // Without it, distributed metadata writes may hang.
  check_status(H5Pset_coll_metadata_write(properties.get(), 1), "H5Pset_coll_metadata_write",
               "access");
  return properties;
}
}  // namespace

File::File() noexcept = default;
File::File(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
File::~File() = default;
File::File(File&&) noexcept = default;
File& File::operator=(File&& other) {
  if (this == &other) return *this;
  base::expects(!impl_, "an open file may not be assigned to; close() it first");
  impl_ = std::move(other.impl_);
  return *this;
}

File::Impl::~Impl() {
  if (!handle.valid() || !shared()) return;  // the handle closes it
  const bool may_close =
      parallel::session_alive() && writers().intact() && !failed && std::uncaught_exceptions() == 0;
  if (may_close) return;
  base::log_debug("file " + path.string() + " is left to the job's end");
  (void)handle.detach();
}

const parallel::Communicator& File::Impl::writers() const {
  static const parallel::Communicator alone;
  return comm != nullptr ? *comm : alone;
}

std::string File::Impl::place(std::string_view object) const {
  std::string text = path.string();
  if (!object.empty()) text.append(":").append(object);
  return text;
}

void File::Impl::refuse(std::string_view object, std::string_view what,
                        std::string_view mend) const {
  throw base::UserError(what, place(object), mend);
}

File File::create(const std::filesystem::path& path, const parallel::Communicator& comm,
                  const Format& format, std::uint64_t metadata_block_bytes) {
  start_hdf5();
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  impl->access = Access::write;
  if (comm.valid()) impl->comm = &comm;
  // One rank first: a place that cannot be written is found before anything collective starts.
  parallel::together(comm, [&] {
    if (comm.rank() == 0) require_writable(path);
  });
  impl->write_together([&] {
    const auto access = access_properties(comm, metadata_block_bytes);
    impl->handle =
        FileHandle(check_id(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()),
                            "H5Fcreate", path.string()));
  });
  File file(std::move(impl));
  try {
    file.set_attribute("", format_attribute, format.name);
    file.set_attribute("", version_attribute, format.version);
  } catch (...) {
    file.abandon();
    throw;
  }
  return file;
}

const std::filesystem::path& File::path() const {
  base::expects(valid(), "the file is open");
  return impl_->path;
}

void File::flush() {
  base::expects(valid(), "the file is open");
  impl_->write_together([&] {
    check_status(H5Fflush(impl_->handle.get(), H5F_SCOPE_GLOBAL), "H5Fflush", impl_->place());
  });
}

void File::close() {
  if (!impl_) return;
  if (impl_->access == Access::write) {
    impl_->write_together([&] {
      const hid_t file = impl_->handle.detach();
      check_status(H5Fclose(file), "H5Fclose", impl_->place());
    });
  } else {
    impl_->handle.close();
  }
  impl_.reset();
}

// A shared file is emptied but never closed: on a full disk HDF5 and MPI-IO hang or crash while
// they close it. Its memory and its descriptor go with the process.
void File::abandon() noexcept {
  if (!impl_) return;
  const bool emptied =
      impl_->writers().rank() != 0 || ::truncate(impl_->path.c_str(), 0) == 0 || errno == ENOENT;
  if (!emptied) base::log_debug("the abandoned file " + impl_->path.string() + " stays as it is");
  const hid_t file = impl_->handle.detach();
  if (!impl_->shared() && emptied && file != FileHandle().get()) {
    H5Fclose(file);
    H5Eclear2(H5E_DEFAULT);
  }
  impl_.reset();
}

}  // namespace physarum::storage
