#pragma once

#include "physarum/buffer/server_settings.hpp"

#include "setup.hpp"
#include "summary.hpp"

namespace physarum::app {

/// What every command's summary holds: command, seed, ranks, layout, seconds, version, exit.
[[nodiscard]] Summary run_summary(const Setup& setup, int ranks, double seconds);
void fill_counters(Summary& summary, const buffer::ServerCounters& counters);
/// Writes summary.json and says in the log where it is. One rank calls it.
void finish_run(const Setup& setup, const Summary& summary, base::ExitCode exit);

}  // namespace physarum::app
