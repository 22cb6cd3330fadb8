#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <hdf5.h>

#include "physarum/base/handle.hpp"
#include "physarum/base/source_location.hpp"

namespace physarum::storage {

/// Before the first HDF5 call: no output of its own, no clean-up of its own at the end (it would
/// close parallel files after MPI is gone). Any number of times.
void start_hdf5();

/// HDF5's error stack in one line, innermost first; clears it.
[[nodiscard]] std::string hdf5_error();

/// Throws WorldError with the call, the object and HDF5's words if `result` is negative.
hid_t check_id(hid_t result, const char* call, std::string_view object,
               const base::SourceLocation& where = base::SourceLocation::current());
void check_status(herr_t result, const char* call, std::string_view object,
                  const base::SourceLocation& where = base::SourceLocation::current());

template <herr_t (*Close)(hid_t)>
struct Hdf5Traits {
  using value_type = hid_t;
  static value_type null() { return H5I_INVALID_HID; }
  static constexpr auto kind = base::ReleaseKind::local;
  static constexpr const char* name = "HDF5 object";
  static bool alive() noexcept { return true; }
  static void release(value_type value) { check_status(Close(value), "H5?close", "object"); }
};

using FileHandle = base::Handle<Hdf5Traits<&H5Fclose>>;
using GroupHandle = base::Handle<Hdf5Traits<&H5Gclose>>;
using DatasetHandle = base::Handle<Hdf5Traits<&H5Dclose>>;
using SpaceHandle = base::Handle<Hdf5Traits<&H5Sclose>>;
using TypeHandle = base::Handle<Hdf5Traits<&H5Tclose>>;
using AttributeHandle = base::Handle<Hdf5Traits<&H5Aclose>>;
using PropertiesHandle = base::Handle<Hdf5Traits<&H5Pclose>>;
using ObjectHandle = base::Handle<Hdf5Traits<&H5Oclose>>;

[[nodiscard]] PropertiesHandle make_properties(hid_t property_class);
[[nodiscard]] SpaceHandle make_space(const std::vector<std::uint64_t>& extent);
[[nodiscard]] SpaceHandle make_scalar_space();

}  // namespace physarum::storage
