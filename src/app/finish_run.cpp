#include "finish_run.hpp"

#include "physarum/base/logging.hpp"

#include "physarum/model/cpu_target.hpp"

#include "physarum/app/version.hpp"

#include "progress.hpp"

namespace physarum::app {

Summary run_summary(const Setup& setup, int ranks, double seconds) {
  Summary summary;
  summary.set("command", setup.command);
  summary.set("seed", setup.configuration.run.seed);
  summary.set("ranks", ranks);
  summary.set("layout", setup.plan.describe());
  summary.set("seconds", seconds);
  summary.set("program_version", version);
  summary.set("cpu", std::string(model::name_of(model::cpu_target())));
  summary.set("exit", 0);
  return summary;
}

void fill_counters(Summary& summary, const buffer::ServerCounters& counters) {
  summary.set("expired_leases", counters.expired_leases);
  summary.set("returned_leases", counters.returned_leases);
  summary.set("repeated_groups", counters.repeated_groups);
  summary.set("aborted_groups", counters.aborted_groups);
  summary.set("stale_groups", counters.stale_groups);
  summary.set("malformed_messages", counters.malformed_messages);
  summary.set("recalled_groups", counters.recalled_groups);
  summary.set("resumed_groups", counters.resumed_groups);
  summary.set("discarded_groups", counters.discarded_groups);
  summary.set("filtered_groups", counters.filtered_groups);
  summary.set("reused_tokens", counters.reused_tokens);
}

void finish_run(const Setup& setup, const Summary& summary, base::ExitCode exit) {
  const auto path = setup.directory / "summary.json";
  summary.write(path);
  const std::string samples = setup.command == "generate"
                                  ? "samples in " + (setup.directory / "samples").string() + ", "
                                  : "";
  if (exit == base::ExitCode::requeue_me) {
    base::log_info("stopped by a signal after a checkpoint; --resume goes on; summary in " +
                   path.string());
    return;
  }
  if (exit != base::ExitCode::done) {
    base::log_error("the run has ended, but not every checkpoint could be written; summary in " +
                    path.string());
    return;
  }
  base::log_info("done; " + samples + "summary in " + path.string());
}

}  // namespace physarum::app
