# Third-party libraries, each as one imported target named physarum_third_<name>.
# A machine with its own MPI, HDF5 and LibTorch sets PHYSARUM_MPI_PREFIX, PHYSARUM_HDF5_PREFIX and
# PHYSARUM_TORCH_PREFIX (docs/building.md); the defaults are what jobs/setup.sh installs.
set(PHYSARUM_DEPS "$ENV{PHYSARUM_DEPS}" CACHE PATH "Directory of the wheels that jobs/setup.sh installs")
if(NOT PHYSARUM_DEPS)
  set(PHYSARUM_DEPS "${PROJECT_SOURCE_DIR}/.deps" CACHE PATH "" FORCE)
endif()
file(GLOB _site "${PHYSARUM_DEPS}/lib/python3*/site-packages")
set(PHYSARUM_MPI_PREFIX "${PHYSARUM_DEPS}" CACHE PATH "Prefix of an MPI-4 library: include/mpi.h, lib/libmpi.so")
set(PHYSARUM_TORCH_PREFIX "${_site}/torch" CACHE PATH "LibTorch: include/ and lib/libtorch_cpu.so")
set(PHYSARUM_HDF5_PREFIX "" CACHE PATH "Prefix of a parallel HDF5; empty: Debian's libhdf5-openmpi-dev")

function(physarum_require variable what mend)
  if(NOT ${variable})
    message(FATAL_ERROR "${what} was not found. ${mend}")
  endif()
endfunction()

# physarum_third_party(<name> INCLUDES dir... LIBRARIES item... DEFINITIONS def...)
function(physarum_third_party name)
  cmake_parse_arguments(A "" "" "INCLUDES;LIBRARIES;DEFINITIONS" ${ARGN})
  add_library(physarum_third_${name} INTERFACE)
  target_include_directories(physarum_third_${name} SYSTEM INTERFACE ${A_INCLUDES})
  target_link_libraries(physarum_third_${name} INTERFACE ${A_LIBRARIES})
  target_compile_definitions(physarum_third_${name} INTERFACE ${A_DEFINITIONS})
endfunction()

find_package(Threads REQUIRED)

# MPI: libmpi alone. Debian's compiler wrapper would add libmpi_cxx, which Open MPI 5 lacks.
find_path(PHYSARUM_MPI_INCLUDE mpi.h HINTS ${PHYSARUM_MPI_PREFIX}/include NO_DEFAULT_PATH)
find_library(PHYSARUM_MPI_LIBRARY NAMES mpi mpich HINTS ${PHYSARUM_MPI_PREFIX}/lib ${PHYSARUM_MPI_PREFIX}/lib64 NO_DEFAULT_PATH)
physarum_require(PHYSARUM_MPI_INCLUDE "mpi.h below ${PHYSARUM_MPI_PREFIX}" "Run jobs/setup.sh or set -DPHYSARUM_MPI_PREFIX=...")
physarum_require(PHYSARUM_MPI_LIBRARY "libmpi below ${PHYSARUM_MPI_PREFIX}" "Run jobs/setup.sh or set -DPHYSARUM_MPI_PREFIX=...")
physarum_third_party(mpi INCLUDES ${PHYSARUM_MPI_INCLUDE} LIBRARIES ${PHYSARUM_MPI_LIBRARY} DEFINITIONS OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)

# HDF5 with MPI-IO.
find_path(PHYSARUM_HDF5_INCLUDE hdf5.h HINTS ${PHYSARUM_HDF5_PREFIX}/include /usr/include/hdf5/openmpi)
find_library(PHYSARUM_HDF5_LIBRARY NAMES hdf5_openmpi hdf5
  HINTS ${PHYSARUM_HDF5_PREFIX}/lib ${PHYSARUM_HDF5_PREFIX}/lib64 /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/hdf5/openmpi)
physarum_require(PHYSARUM_HDF5_INCLUDE "Parallel HDF5" "Run jobs/setup.sh or set -DPHYSARUM_HDF5_PREFIX=...")
physarum_require(PHYSARUM_HDF5_LIBRARY "Parallel HDF5" "Run jobs/setup.sh or set -DPHYSARUM_HDF5_PREFIX=...")
physarum_third_party(hdf5 INCLUDES ${PHYSARUM_HDF5_INCLUDE} LIBRARIES ${PHYSARUM_HDF5_LIBRARY} physarum_third_mpi)

# LibTorch, which tests and benchmarks compare with: an imported target of our own; the wheel's CMake
# package insists on finding a GPU.
if(PHYSARUM_TESTS OR PHYSARUM_BENCHMARKS)
  find_library(PHYSARUM_TORCH_CPU torch_cpu HINTS ${PHYSARUM_TORCH_PREFIX}/lib NO_DEFAULT_PATH)
  find_library(PHYSARUM_TORCH_C10 c10 HINTS ${PHYSARUM_TORCH_PREFIX}/lib NO_DEFAULT_PATH)
  set(mend "Run jobs/setup.sh, set -DPHYSARUM_TORCH_PREFIX=... or build without tests (-DPHYSARUM_TESTS=OFF).")
  physarum_require(PHYSARUM_TORCH_CPU "libtorch_cpu below ${PHYSARUM_TORCH_PREFIX}" "${mend}")
  physarum_require(PHYSARUM_TORCH_C10 "libc10 below ${PHYSARUM_TORCH_PREFIX}" "${mend}")
  physarum_third_party(torch
    INCLUDES ${PHYSARUM_TORCH_PREFIX}/include ${PHYSARUM_TORCH_PREFIX}/include/torch/csrc/api/include
    LIBRARIES ${PHYSARUM_TORCH_CPU} ${PHYSARUM_TORCH_C10})
  # The wheel's CPU library asks for libcudart and libcupti, which come in wheels of their own.
  file(GLOB PHYSARUM_RUNTIME_DIRS ${_site}/nvidia/cu*/lib)
  if(PHYSARUM_RUNTIME_DIRS)
    target_link_options(physarum_third_torch INTERFACE "LINKER:-rpath-link,${PHYSARUM_RUNTIME_DIRS}")
  endif()
endif()
set(CMAKE_BUILD_RPATH ${PHYSARUM_MPI_PREFIX}/lib ${PHYSARUM_TORCH_PREFIX}/lib ${PHYSARUM_RUNTIME_DIRS})
set(CMAKE_BUILD_RPATH_USE_ORIGIN OFF)

find_package(Boost 1.74 REQUIRED COMPONENTS log log_setup thread filesystem)
physarum_third_party(boost_log INCLUDES ${Boost_INCLUDE_DIRS}
  LIBRARIES Boost::log Boost::log_setup Boost::thread Boost::filesystem Threads::Threads DEFINITIONS BOOST_LOG_DYN_LINK)

# Header-only.
foreach(pair "tomlplusplus|toml++/toml.h" "cli11|CLI/CLI.hpp" "json|nlohmann/json.hpp" "xxhash|xxhash.h")
  string(REPLACE "|" ";" pair "${pair}")
  list(GET pair 0 name)
  list(GET pair 1 header)
  find_path(PHYSARUM_${name}_INCLUDE ${header})
  physarum_require(PHYSARUM_${name}_INCLUDE "${header}" "Run jobs/setup.sh.")
  physarum_third_party(${name} INCLUDES ${PHYSARUM_${name}_INCLUDE})
endforeach()

foreach(pair "pcre2|pcre2.h|pcre2-8" "utf8proc|utf8proc.h|utf8proc" "zstd|zstd.h|zstd")
  string(REPLACE "|" ";" pair "${pair}")
  list(GET pair 0 name)
  list(GET pair 1 header)
  list(GET pair 2 library)
  find_path(PHYSARUM_${name}_INCLUDE ${header})
  find_library(PHYSARUM_${name}_LIBRARY ${library})
  physarum_require(PHYSARUM_${name}_INCLUDE "${header}" "Run jobs/setup.sh.")
  physarum_require(PHYSARUM_${name}_LIBRARY "lib${library}" "Run jobs/setup.sh.")
  physarum_third_party(${name} INCLUDES ${PHYSARUM_${name}_INCLUDE} LIBRARIES ${PHYSARUM_${name}_LIBRARY})
endforeach()

# ULFM: the same program builds without it.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_INCLUDES ${PHYSARUM_MPI_INCLUDE})
set(CMAKE_REQUIRED_LIBRARIES ${PHYSARUM_MPI_LIBRARY})
set(CMAKE_REQUIRED_DEFINITIONS -DOMPI_SKIP_MPICXX)
check_cxx_source_compiles("
#include <mpi.h>
#include <mpi-ext.h>
int main() { int flag = MPIX_ERR_PROC_FAILED; MPI_Comm comm = MPI_COMM_WORLD; return MPIX_Comm_revoke(comm) + flag; }
" PHYSARUM_HAVE_ULFM)
unset(CMAKE_REQUIRED_INCLUDES)
unset(CMAKE_REQUIRED_LIBRARIES)
unset(CMAKE_REQUIRED_DEFINITIONS)
