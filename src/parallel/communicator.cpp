#include "physarum/parallel/communicator.hpp"

#include "physarum/base/contracts.hpp"
#include "physarum/base/logging.hpp"

#include "physarum/parallel/native.hpp"

#include "communicator_impl.hpp"

namespace physarum::parallel {

namespace {
const std::string& null_name() {
  static const std::string name = "alone";
  return name;
}
}  // namespace

Communicator::Impl::Impl(MPI_Comm comm, std::string_view name_of_it, double patience)
    : handle(comm), name(name_of_it), patience_s(patience) {
  check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler", owner());
  check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank", owner());
  check(MPI_Comm_size(comm, &size), "MPI_Comm_size", owner());
}

Communicator::Impl::~Impl() {
  if (!handle.valid()) return;
  if (!broken && may_release_collectively()) return;  // the handle's destructor releases it
  base::log_debug("communicator '" + name + "' is left to the job's end");
  (void)handle.detach();
}

std::string Communicator::Impl::describe() const {
  return "rank " + std::to_string(rank) + " of " + std::to_string(size) + " in '" + name + "'";
}

Communicator::Communicator() noexcept = default;
Communicator::Communicator(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Communicator::~Communicator() = default;
Communicator::Communicator(Communicator&&) noexcept = default;

Communicator& Communicator::operator=(Communicator&& other) {
  if (this == &other) return *this;
  base::expects(!impl_, "a live communicator may not be assigned to; close() it first");
  impl_ = std::move(other.impl_);
  return *this;
}

int Communicator::rank() const noexcept { return impl_ ? impl_->rank : 0; }
int Communicator::size() const noexcept { return impl_ ? impl_->size : 1; }
bool Communicator::valid() const noexcept { return impl_ != nullptr; }
bool Communicator::intact() const noexcept { return !impl_ || !impl_->broken; }
const std::string& Communicator::name() const noexcept { return impl_ ? impl_->name : null_name(); }
std::string Communicator::describe() const {
  return impl_ ? impl_->describe() : "rank 0 of 1 in 'alone'";
}

void Communicator::set_patience_s(double seconds) {
  base::expects(seconds > 0, "patience is positive");
  if (impl_) impl_->patience_s = seconds;
}
double Communicator::patience_s() const noexcept { return impl_ ? impl_->patience_s : 600; }

// MPI has no bounded split: the barrier in front is where a rank that never comes is noticed.
Communicator Communicator::split(int color, int key, std::string_view name) const {
  if (!impl_) return {};
  barrier();
  MPI_Comm made = MPI_COMM_NULL;
  check(MPI_Comm_split(impl_->handle.get(), color < 0 ? MPI_UNDEFINED : color, key, &made),
        "MPI_Comm_split", impl_->owner());
  if (made == MPI_COMM_NULL) return {};
  return Communicator(std::make_unique<Impl>(made, name, impl_->patience_s));
}

Communicator Communicator::duplicate(std::string_view name) const {
  if (!impl_) return {};
  barrier();
  MPI_Comm made = MPI_COMM_NULL;
  check(MPI_Comm_dup(impl_->handle.get(), &made), "MPI_Comm_dup", impl_->owner());
  return Communicator(std::make_unique<Impl>(made, name, impl_->patience_s));
}

void Communicator::close() {
  if (!impl_) return;
  impl_->handle.close();
  impl_.reset();
}

MPI_Comm native(const Communicator& comm) noexcept {
  return comm.valid() ? comm.impl()->handle.get() : MPI_COMM_NULL;
}

}  // namespace physarum::parallel
