#include <algorithm>
#include <cstdio>

#include "physarum/parallel/agree.hpp"

#include "command.hpp"
#include "memory_plan.hpp"
#include "setup.hpp"
#include "slurm_script.hpp"
#include "weight_plan.hpp"

namespace physarum::app {

namespace {

/// What `check` understands besides the configuration.
struct CheckOptions {
  std::int64_t ranks = 0;  ///< 0: as many as it runs on
  bool slurm = false;
  bool slurm_components = false;
};

void declare_options(base::OptionTable& table, CheckOptions& options) {
  table.topic("check");
  table.add("ranks", options.ranks, "Plan for so many ranks instead of those that run it.",
            base::Range<std::int64_t>{1, 1 << 24});
  table.add_switch("slurm", options.slurm, "Print a job script for this configuration instead.");
  table.add_switch("slurm-components", options.slurm_components,
                   "The same as a heterogeneous job: a component for each kind of rank.");
}

/// Takes the words that are check's own and returns the others.
std::vector<std::string> take_own(const std::vector<std::string>& arguments,
                                  CheckOptions& options) {
  base::OptionTable table;
  declare_options(table, options);
  std::vector<std::string> own, rest;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto& word = arguments[i];
    const auto name = word.substr(0, word.find('='));
    const auto* option = name.starts_with("--") ? table.find(name.substr(2)) : nullptr;
    auto& list = option != nullptr ? own : rest;
    list.push_back(word);
    const bool value_follows =
        option != nullptr && !option->is_switch() && name == word && i + 1 < arguments.size();
    if (value_follows) list.push_back(arguments[++i]);
  }
  (void)base::read_arguments(own, table);
  return rest;
}

/// A share can only be one of the memory that is here.
std::string memory_note(const Setup& setup) {
  if (!setup.configuration.rollout.mem_fraction_static) return "";
  return "Memory is asked for as if the nodes were the machine that wrote this script: the "
         "engines' "
         "share (--sglang-mem-fraction-static) is one of its memory. If they are others, set "
         "--mem-per-cpu below, or give --kv-cache-bytes.";
}

std::string job_script(const Setup& setup, const std::vector<std::string>& arguments,
                       SlurmForm form) {
  const auto memory = memory_plan(setup, weight_plan(setup));
  const auto& plan = setup.plan;
  const auto count = [](const std::vector<int>& ranks) {
    return static_cast<std::int64_t>(ranks.size());
  };
  SlurmRequest request;
  request.form = form;
  request.run_name = setup.configuration.run.run_name;
  request.layout = plan.describe();
  request.memory_note = memory_note(setup);
  request.arguments = arguments;
  request.ranks = plan.world_size();
  request.buffer = {count(plan.buffer_ranks()), memory.buffer.mb};
  const std::int64_t threads = setup.configuration.weights.threads;
  request.trainer = {count(plan.trainer_ranks()), memory.trainer.mb, threads};
  request.rollout = {count(plan.rollout_ranks()), memory.rollout.mb,
                     std::max(threads, setup.configuration.rollout.threads)};
  return slurm_script(request);
}

}  // namespace

base::ExitCode run_check(const std::vector<std::string>& arguments, parallel::Communicator& world) {
  CheckOptions options;
  std::vector<std::string> rest;
  parallel::together(world, [&] { rest = take_own(arguments, options); });
  const Setup setup =
      load_setup("check", rest, Needs::circle, world, static_cast<int>(options.ranks));
  if (options.slurm || options.slurm_components) {
    std::string script;
    parallel::together(world, [&] {
      script = job_script(setup, rest,
                          options.slurm_components ? SlurmForm::components : SlurmForm::one_group);
    });
    if (world.rank() == 0) std::fputs(script.c_str(), stdout);
    return base::ExitCode::done;
  }
  WeightPlan weights;
  MemoryPlan memory;
  parallel::together(world, [&] {
    weights = weight_plan(setup);
    memory = memory_plan(setup, weights);
  });
  if (world.rank() != 0) return base::ExitCode::done;
  std::printf("%s\n# layout: %s\n# model: %lld parameters\n", setup.toml.c_str(),
              setup.plan.describe().c_str(), static_cast<long long>(setup.model.parameter_count()));
  for (const auto& line : memory.lines()) std::printf("# memory: %s\n", line.c_str());
  for (const auto& line : weights.lines()) std::printf("# weights: %s\n", line.c_str());
  return base::ExitCode::done;
}

}  // namespace physarum::app
