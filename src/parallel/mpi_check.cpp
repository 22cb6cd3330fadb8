#include "mpi_check.hpp"

#include "physarum/base/error.hpp"

#include "physarum/parallel/error.hpp"

#include "peers.hpp"

namespace physarum::parallel {

namespace {
std::string lost_message(std::string_view call, std::string_view communicator,
                         const std::vector<int>& lost) {
  std::string text = std::string(call) + " on '" + std::string(communicator) + "': peer lost";
  for (std::size_t i = 0; i < lost.size(); ++i) {
    text += (i == 0 ? ", rank " : ", ") + std::to_string(lost[i]);
  }
  return text;
}
}  // namespace

PeerLost::PeerLost(std::string_view call, std::string_view communicator, std::vector<int> lost)
    : std::runtime_error(lost_message(call, communicator, lost)), lost_(std::move(lost)) {}

std::string error_text(int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) return "unknown error";
  return {text, static_cast<std::size_t>(length)};
}

int error_class(int code) noexcept {
  int result = MPI_ERR_UNKNOWN;
  MPI_Error_class(code, &result);
  return result;
}

void check(int code, const char* call, const CallOwner& owner, const base::SourceLocation& where) {
  if (code == MPI_SUCCESS) return;
  if (means_lost_peer(error_class(code))) {
    throw PeerLost(call, owner.name, find_lost_peers(owner.comm));
  }
  throw base::WorldError(std::string(call) + " on '" + std::string(owner.name) + "'", code,
                         error_text(code), where);
}

}  // namespace physarum::parallel
