#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace physarum::app {

/// One group of nodes with all ranks, or a heterogeneous job: a component each for buffer, trainer
/// and rollout ranks.
enum class SlurmForm { one_group, components };

struct SlurmGroup {
  std::int64_t ranks = 1;
  double memory_mb = 0;      ///< of one rank, by the memory plan
  std::int64_t threads = 1;  ///< of one rank, each on a core of its own
};

/// What a job script must know of a configuration. Colocated ranks are counted in every group that
/// they belong to; then `ranks` is less than the groups' sum.
struct SlurmRequest {
  SlurmForm form = SlurmForm::one_group;
  std::string run_name;
  std::string layout;                  ///< for the reader: one line
  std::string memory_note = {};        ///< the same, about the memory; empty: none
  std::vector<std::string> arguments;  ///< of `physarum train`: configuration file and flags
  std::int64_t ranks = 0;
  SlurmGroup buffer;
  SlurmGroup trainer;
  SlurmGroup rollout;
  std::string time_limit = "04:00:00";
  std::int64_t notice_s = 300;  ///< before the limit the run is asked for a checkpoint
};

/// A script for sbatch that asks for what the configuration needs and leaves the rest to
/// jobs/slurm/run_job.sh. Flags that sbatch gives it come after the request's and win.
/// Memory: the plan's, a quarter more and 512 MB, since the plan counts no activations and
/// libraries. SlurmForm::components with colocated ranks: UserError.
[[nodiscard]] std::string slurm_script(const SlurmRequest& request);

}  // namespace physarum::app
