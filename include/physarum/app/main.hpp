#pragma once

namespace physarum::app {

/// The program: starts MPI, finds the command, runs it on all ranks, ends MPI. Returns the exit
/// code (base::ExitCode). Prints at most one line of error, from one rank.
int run(int argc, char** argv);

}  // namespace physarum::app
