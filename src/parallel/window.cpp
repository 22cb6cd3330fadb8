#include "physarum/parallel/window.hpp"

#include <atomic>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"
#include "physarum/base/logging.hpp"
#include "physarum/base/narrow.hpp"

#include "window_impl.hpp"

namespace physarum::parallel {

namespace {
void require_unified_memory(MPI_Win window, const CallOwner& owner) {
  int* model = nullptr;
  int found = 0;
  check(MPI_Win_get_attr(window, MPI_WIN_MODEL, &model, &found), "MPI_Win_get_attr", owner);
  if (found == 0 || *model != MPI_WIN_UNIFIED) {
    throw base::WorldError("MPI_Win_create", 0, "this MPI library keeps two copies of a window");
  }
}

std::atomic<int> reads_by_mpi{0};
}  // namespace

ScopedReadsByMpi::ScopedReadsByMpi() noexcept { ++reads_by_mpi; }
ScopedReadsByMpi::~ScopedReadsByMpi() { --reads_by_mpi; }
bool ScopedReadsByMpi::active() noexcept { return reads_by_mpi > 0; }

Window::Impl::~Impl() {
  if (!handle.valid() || may_release_collectively()) return;
  base::log_debug("window '" + name + "' is left to the job's end");
  (void)handle.detach();
}

Window::Window() noexcept = default;
Window::~Window() = default;
Window::Window(Window&&) noexcept = default;
Window& Window::operator=(Window&& other) {
  if (this == &other) return *this;
  base::expects(!impl_, "a live window may not be assigned to; close() it first");
  impl_ = std::move(other.impl_);
  return *this;
}

Window Window::over(const Communicator& comm, std::span<std::byte> memory, std::string_view name) {
  base::expects(reinterpret_cast<std::uintptr_t>(memory.data()) % 8 == 0 || memory.empty(),
                "a window's memory is aligned for 64-bit words");
  Window window;
  window.impl_ = std::make_unique<Impl>();
  auto& impl = *window.impl_;
  impl.name = name;
  impl.memory = memory;
  impl.sizes = comm.all_gather<std::uint64_t>(memory.size());
  if (!comm.valid()) return window;
  impl.comm = comm.duplicate("window " + impl.name);
  MPI_Win made = MPI_WIN_NULL;
  impl.check(MPI_Win_create(memory.data(), base::narrow<MPI_Aint>(memory.size()), 1, MPI_INFO_NULL,
                            impl.comm.impl()->handle.get(), &made),
             "MPI_Win_create");
  impl.handle = WindowHandle(made);
  impl.check(MPI_Win_set_errhandler(made, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler");
  require_unified_memory(made, impl.owner());
  impl.neighbours = Neighbours(impl.comm, memory);
  return window;
}

std::uint64_t Window::bytes_of(int target) const {
  base::expects(impl_ && target >= 0 && target < base::narrow<int>(impl_->sizes.size()),
                "the target is a rank of the window");
  return impl_->sizes[static_cast<std::size_t>(target)];
}

void Window::close() {
  if (!impl_) return;
  base::expects(!impl_->epoch_open, "no epoch is open when a window closes");
  impl_->comm.barrier();  // a rank that never comes is noticed here; MPI_Win_free has no deadline
  impl_->handle.close();
  impl_->comm.close();
  impl_.reset();
}

}  // namespace physarum::parallel
