#include "hdf5.hpp"

#include <algorithm>

#include "physarum/base/error.hpp"

namespace physarum::storage {

void start_hdf5() {
  static const bool started = [] {
    H5dont_atexit();
    H5open();
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    return true;
  }();
  (void)started;
}

namespace {
// Before main(), so before MPI: a library that starts after MPI_Init closes all its files inside
// MPI_Finalize, and crashes there on a file that was abandoned.
const bool started_before_mpi = (start_hdf5(), true);
}  // namespace

namespace {
herr_t append_error(unsigned depth, const H5E_error2_t* error, void* text_of_caller) {
  constexpr unsigned enough = 3;
  if (depth >= enough || error->desc == nullptr) return 0;
  try {
    auto& text = *static_cast<std::string*>(text_of_caller);
    if (!text.empty()) text += "; ";
    text += error->desc;
  } catch (...) {  // no exception may pass through C
    return -1;
  }
  return 0;
}
}  // namespace

std::string hdf5_error() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, append_error, &text);
  H5Eclear2(H5E_DEFAULT);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text.empty() ? "no reason given" : text;
}

hid_t check_id(hid_t result, const char* call, std::string_view object,
               const base::SourceLocation& where) {
  if (result < 0) {
    throw base::WorldError(std::string(call) + " on '" + std::string(object) + "'", -1,
                           hdf5_error(), where);
  }
  return result;
}

void check_status(herr_t result, const char* call, std::string_view object,
                  const base::SourceLocation& where) {
  check_id(result, call, object, where);
}

PropertiesHandle make_properties(hid_t property_class) {
  return PropertiesHandle(check_id(H5Pcreate(property_class), "H5Pcreate", "properties"));
}

SpaceHandle make_space(const std::vector<std::uint64_t>& extent) {
  const std::vector<hsize_t> sizes(extent.begin(), extent.end());
  return SpaceHandle(
      check_id(H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr),
               "H5Screate_simple", "extent"));
}

SpaceHandle make_scalar_space() {
  return SpaceHandle(check_id(H5Screate(H5S_SCALAR), "H5Screate", "scalar"));
}

}  // namespace physarum::storage
