#include "neighbours.hpp"

#include <cerrno>
#include <cstring>
#include <random>
#include <string>

#include <sys/uio.h>
#include <unistd.h>

#include "physarum/base/error.hpp"
#include "physarum/base/hash.hpp"
#include "physarum/base/host.hpp"

#include "physarum/parallel/window.hpp"

namespace physarum::parallel {
namespace {

/// What a rank tells the others.
struct Place {
  std::uint64_t host = 0;
  std::uint64_t process = 0;
  std::uint64_t memory = 0;
  std::uint64_t sign_at = 0;
  std::uint64_t sign = 0;
};

// Beside the process id, which says little between containers that share a host's name.
std::uint64_t random_sign() {
  std::random_device dice;
  return std::uint64_t{dice()} << 32 | dice();
}

std::uint64_t address_of(const void* memory) { return reinterpret_cast<std::uint64_t>(memory); }

/// Bytes copied, at least one; -1 and errno.
ssize_t copy_some(pid_t process, std::span<std::byte> to, std::uint64_t from) {
  const iovec here{to.data(), to.size()};
  const iovec there{reinterpret_cast<void*>(from), to.size()};
  const ssize_t copied = process_vm_readv(process, &here, 1, &there, 1, 0);
  if (copied == 0) errno = EFAULT;
  return copied == 0 ? -1 : copied;
}

bool shows(pid_t process, std::uint64_t address, std::uint64_t sign) {
  std::uint64_t found = 0;
  const auto bytes = std::as_writable_bytes(std::span(&found, 1));
  return copy_some(process, bytes, address) == std::ssize(bytes) && found == sign;
}

}  // namespace

Neighbours::Neighbours(const Communicator& comm, std::span<std::byte> memory)
    : sign_(std::make_unique<const std::uint64_t>(random_sign())) {
  const Place own{base::hash64(base::host_name()), static_cast<std::uint64_t>(getpid()),
                  address_of(memory.data()), address_of(sign_.get()), *sign_};
  const std::vector<Place> places = comm.all_gather(own);
  for (const Place& place : places) {
    Process process{static_cast<pid_t>(place.process), place.memory, false};
    process.readable = !ScopedReadsByMpi::active() && place.host == own.host &&
                       place.process != own.process && shows(process.id, place.sign_at, place.sign);
    processes_.push_back(process);
  }
}

bool Neighbours::have(int target) const {
  const auto index = static_cast<std::size_t>(target);
  return index < processes_.size() && processes_[index].readable;
}

void Neighbours::read(std::span<std::byte> to, int target, std::uint64_t offset) const {
  const Process& process = processes_[static_cast<std::size_t>(target)];
  while (!to.empty()) {
    const ssize_t copied = copy_some(process.id, to, process.memory + offset);
    if (copied < 0) {
      throw base::WorldError(
          "process_vm_readv", errno,
          std::string(std::strerror(errno)) + ": memory of rank " + std::to_string(target));
    }
    to = to.subspan(static_cast<std::size_t>(copied));
    offset += static_cast<std::uint64_t>(copied);
  }
}

}  // namespace physarum::parallel
