#include "requests.hpp"

#include <algorithm>

#include "physarum/base/narrow.hpp"

#include "physarum/parallel/wait.hpp"

#include "handles.hpp"

namespace physarum::parallel {

void keep_forever(base::Bytes&& bytes) noexcept {
  // Deliberately not destroyed: MPI may write to it until the process is gone.
  static auto* const graveyard = new std::vector<base::Bytes>();
  try {
    graveyard->push_back(std::move(bytes));
  } catch (...) {
    new base::Bytes(std::move(bytes));
  }
}

Requests::~Requests() {
  if (complete_) return;
  comm_.broken = true;
  mark_session_failed();
  for (auto& buffer : kept_) keep_forever(std::move(buffer));
}

MPI_Request* Requests::add() {
  requests_.push_back(MPI_REQUEST_NULL);
  return &requests_.back();
}

std::byte* Requests::keep(std::size_t bytes) {
  kept_.emplace_back(std::max<std::size_t>(bytes, 1));
  return kept_.back().data();
}

bool Requests::test() {
  int done = 0;
  std::vector<MPI_Status> statuses(requests_.size());
  const int code =
      MPI_Testall(base::narrow<int>(requests_.size()), requests_.data(), &done, statuses.data());
  if (code == MPI_SUCCESS) return done != 0;
  if (error_class(code) == MPI_ERR_IN_STATUS) {
    for (const auto& status : statuses) {
      if (status.MPI_ERROR != MPI_ERR_PENDING) check(status.MPI_ERROR, "MPI_Testall");
    }
  }
  check(code, "MPI_Testall");
  return false;
}

void Requests::wait(const base::Deadline& deadline) {
  if (!wait_until([this] { return test(); }, deadline)) {
    throw_deadline(comm_.describe(), std::string(what_), deadline);
  }
  complete_ = true;
}

}  // namespace physarum::parallel
