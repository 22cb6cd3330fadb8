#include "physarum/storage/directory_lock.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "physarum/base/error.hpp"
#include "physarum/base/host.hpp"
#include "physarum/base/logging.hpp"

#include "physarum/storage/file_system.hpp"

namespace physarum::storage {

namespace {

constexpr const char* lock_file_name = ".lock";

std::string job_name() {
  const char* job = std::getenv("SLURM_JOB_ID");
  return job == nullptr ? "none" : job;
}

std::string holder_text() {
  return "host " + base::host_name() + ", process " + std::to_string(::getpid()) + ", job " +
         job_name() + ", since " + base::utc_now();
}

std::string content_of(int descriptor) {
  std::array<char, 512> text{};
  const auto got = ::pread(descriptor, text.data(), text.size() - 1, 0);
  return got > 0 ? std::string(text.data(), static_cast<std::size_t>(got)) : "";
}

[[noreturn]] void refuse(const std::filesystem::path& directory, const std::string& holder) {
  throw base::UserError(
      "another job writes to this directory (" + (holder.empty() ? "it does not say who" : holder) +
          ")",
      directory.string(),
      "wait for its end or choose another directory; if it is dead, remove the file .lock in it");
}

/// Without kernel locks: the holder's own words. A requeued job keeps its number, so it may go on.
bool may_still_live(const std::string& holder) {
  if (holder.empty()) return false;
  if (job_name() != "none" && holder.find("job " + job_name() + ",") != holder.npos) return false;
  const std::string mine = "host " + base::host_name() + ", process ";
  if (!holder.starts_with(mine)) return true;
  const auto process = static_cast<pid_t>(std::atol(holder.c_str() + mine.size()));
  return process > 0 && (::kill(process, 0) == 0 || errno == EPERM);
}

enum class Taken { yes, no, unsupported };

Taken take(int descriptor) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (::fcntl(descriptor, F_OFD_SETLK, &whole) == 0) return Taken::yes;
  return errno == EAGAIN || errno == EACCES ? Taken::no : Taken::unsupported;
}

}  // namespace

// Emptied, so that without kernel locks nobody waits for a process that has ended in order.
void LockTraits::release(value_type descriptor) {
  if (::ftruncate(descriptor, 0) != 0) base::log_debug("a directory lock keeps its text");
  ::close(descriptor);
}

DirectoryLock::DirectoryLock(const std::filesystem::path& directory) {
  real_file_system().make_directories(directory);
  const auto path = directory / lock_file_name;
  base::Handle<LockTraits> file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file.valid()) {
    throw base::UserError(std::string("the directory cannot be written: ") + std::strerror(errno),
                          directory.string(), "choose another one, or mend its permissions");
  }
  const Taken taken = take(file.get());
  const std::string holder = content_of(file.get());
  if (taken == Taken::no) refuse(directory, holder);
  if (taken == Taken::unsupported && may_still_live(holder)) refuse(directory, holder);
  const std::string text = holder_text();
  if (::ftruncate(file.get(), 0) != 0 ||
      ::pwrite(file.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    throw base::UserError(std::string("the lock cannot be written: ") + std::strerror(errno),
                          path.string(), "choose another directory, or make room");
  }
  descriptor_ = std::move(file);
}

}  // namespace physarum::storage
