#pragma once

#include <gtest/gtest.h>

#include "physarum/parallel/communicator.hpp"

namespace physarum::test {

/// The world of the MPI test main (tests/support/mpi_main.cpp). Every rank runs the same tests in
/// the same order; before each test the ranks meet. A test that fails on any rank fails the run.
[[nodiscard]] parallel::Communicator& world();

/// Seconds that one test may take before the watchdog ends the process; 60 unless a test asks for
/// more at its beginning. Reset before each test.
void allow_test_s(double seconds);

}  // namespace physarum::test
