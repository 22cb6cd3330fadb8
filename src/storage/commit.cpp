#include "physarum/storage/commit.hpp"

#include "physarum/base/logging.hpp"

#include "physarum/parallel/agree.hpp"

namespace physarum::storage {

namespace {
constexpr const char* temporary_suffix = ".tmp";

/// A rename is durable once its directory is.
void publish(FileSystem& files, const std::filesystem::path& temporary,
             const std::filesystem::path& final_path) {
  files.sync_file(temporary);
  files.rename(temporary, final_path);
  files.sync_directory(final_path.parent_path());
}

void remove_quietly(FileSystem& files, const std::filesystem::path& path) noexcept {
  try {
    files.remove(path);
  } catch (const std::exception& error) {
    base::log_warning(std::string("a temporary file stays: ") + error.what());
  }
}
}  // namespace

std::filesystem::path temporary_path(const std::filesystem::path& final_path) {
  auto path = final_path;
  path += temporary_suffix;
  return path;
}

bool is_temporary(const std::filesystem::path& path) {
  return path.extension() == temporary_suffix;
}

void commit_file(FileSystem& files, const std::filesystem::path& final_path,
                 const parallel::Communicator& comm, const Format& format,
                 const std::function<void(File&)>& write) {
  const auto temporary = temporary_path(final_path);
  const bool first = comm.rank() == 0;
  parallel::together(comm, [&] {
    if (!first) return;
    files.make_directories(final_path.parent_path());
    files.remove(temporary);
  });
  File file;
  try {
    file = File::create(temporary, comm, format);
    write(file);
    file.flush();
    file.close();
  } catch (...) {
    file.abandon();
    if (first) remove_quietly(files, temporary);
    throw;
  }
  try {
    parallel::together(comm, [&] {
      if (first) publish(files, temporary, final_path);
    });
  } catch (...) {
    if (first) remove_quietly(files, temporary);
    throw;
  }
}

void commit_text(FileSystem& files, const std::filesystem::path& final_path,
                 std::string_view content) {
  const auto temporary = temporary_path(final_path);
  files.make_directories(final_path.parent_path());
  try {
    files.write_file(temporary, content);
    publish(files, temporary, final_path);
  } catch (...) {
    remove_quietly(files, temporary);
    throw;
  }
}

void commit_directory(FileSystem& files, const std::filesystem::path& temporary,
                      const std::filesystem::path& final_path) {
  files.sync_directory(temporary);
  files.rename(temporary, final_path);
  files.sync_directory(final_path.parent_path());
}

}  // namespace physarum::storage
