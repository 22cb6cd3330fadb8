#include "slurm_script.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"

namespace physarum::app {

namespace {

constexpr std::string_view harmless =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:=,+@%-";

/// As the shell reads it back: a word of harmless characters as it is, all else in single quotes.
std::string quoted(const std::string& word) {
  if (!word.empty() && word.find_first_not_of(harmless) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

/// For an #SBATCH line, which knows no quotes; % would name the job's number.
std::string one_word(std::string text) {
  for (char& c : text) {
    if (c == '%' || harmless.find(c) == std::string_view::npos) c = '-';
  }
  return text.empty() ? "physarum" : text;
}

/// For a comment, which ends with the line.
std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string sbatch(const std::string& options) { return "#SBATCH " + options + "\n"; }

std::string tasks(const SlurmGroup& group) {
  // In steps of 128 MB: the plan is no more precise.
  const double core_mb = (group.memory_mb * 1.25 + 512) / static_cast<double>(group.threads);
  const auto steps = static_cast<std::int64_t>(std::ceil(core_mb / 128));
  return sbatch("--ntasks=" + std::to_string(group.ranks) +
                " --cpus-per-task=" + std::to_string(group.threads) +
                " --mem-per-cpu=" + std::to_string(steps * 128) + "M");
}

/// What every component must say for itself.
std::string limits(const SlurmRequest& request) {
  return sbatch("--time=" + request.time_limit) + sbatch("--requeue");
}

/// What is of the whole job.
std::string job(const SlurmRequest& request) {
  return sbatch("--job-name=" + one_word(request.run_name)) + sbatch("--open-mode=append") +
         sbatch("--output=slurm-%j.out") +
         sbatch("--signal=B:USR1@" + std::to_string(request.notice_s)) + limits(request);
}

bool colocated(const SlurmRequest& request) {
  return request.ranks < request.buffer.ranks + request.trainer.ranks + request.rollout.ranks;
}

std::string one_group(const SlurmRequest& request) {
  const double buffer = request.buffer.memory_mb;
  const double trainer = request.trainer.memory_mb;
  const double rollout = request.rollout.memory_mb;
  // Slurm gives every task of a group the same: what the largest needs, or one that is all three.
  return job(request) +
         tasks({.ranks = request.ranks,
                .memory_mb = colocated(request) ? buffer + trainer + rollout
                                                : std::max({buffer, trainer, rollout}),
                .threads = std::max(
                    {request.buffer.threads, request.trainer.threads, request.rollout.threads})});
}

/// In the order of the world's ranks. The script runs on the first node of the first.
std::string components(const SlurmRequest& request) {
  return "# Buffer:\n" + job(request) + tasks(request.buffer) + "#SBATCH hetjob\n# Trainer:\n" +
         limits(request) + tasks(request.trainer) + "#SBATCH hetjob\n# Rollout:\n" +
         limits(request) + tasks(request.rollout);
}

}  // namespace

std::string slurm_script(const SlurmRequest& request) {
  base::expects(request.ranks > 0, "a job has ranks");
  if (request.form == SlurmForm::components && colocated(request)) {
    throw base::UserError("colocated ranks cannot be components of a heterogeneous job",
                          "--colocate", "leave it out, or ask for a job of one group");
  }
  std::string text =
      "#!/usr/bin/env bash\n# Run " + one_line(request.run_name) + ": " + one_line(request.layout) +
      ".\n# Submit in the checkout, or set PHYSARUM_HOME to it:  sbatch FILE [--flag value ...]\n";
  if (!request.memory_note.empty()) text += "# " + one_line(request.memory_note) + "\n";
  text += request.form == SlurmForm::one_group ? one_group(request) : components(request);
  text += R"script(
# Your cluster's modules, if the program was built with them:
# module load gcc/12 openmpi/5.0 hdf5-parallel/1.14
# export PHYSARUM_MPIRUN=$(command -v mpirun)

shared=${PHYSARUM_HOME:-$SLURM_SUBMIT_DIR}/jobs/slurm/run_job.sh
[ -r "$shared" ] || { echo "job: no $shared; submit in the checkout or set PHYSARUM_HOME" >&2; exit 2; }
. "$shared"
train_job)script";
  for (const auto& argument : request.arguments) text += " " + quoted(argument);
  return text + " \"$@\"\n";
}

}  // namespace physarum::app
