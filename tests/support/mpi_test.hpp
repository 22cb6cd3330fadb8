#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "physarum/base/deadline.hpp"

#include "physarum/parallel/communicator.hpp"

namespace physarum::test {

/// The world of the MPI test main (tests/support/mpi_main.cpp). Every rank runs the same tests in
/// the same order; before each test the ranks meet. A test that fails on any rank fails the run.
[[nodiscard]] parallel::Communicator& world();

/// For what comes at once. Only a rank that hangs lets it pass: ranks that share a core with other
/// programs may wait for their turn for seconds.
[[nodiscard]] inline base::Deadline soon() { return base::Deadline::in(100); }

/// Seconds that one test may take before the watchdog ends the process; 180 unless a test asks for
/// more at its beginning. Reset before each test.
void allow_test_s(double seconds);

/// The word after `name` in the test program's own command line, if it stands there.
[[nodiscard]] std::optional<std::string> argument(std::string_view name);

}  // namespace physarum::test
