// The commands without a trainer: evaluate and generate.
#include "physarum/parallel/agree.hpp"

#include "circle.hpp"
#include "command.hpp"
#include "start_run.hpp"

namespace physarum::app {

namespace {

constexpr std::int64_t most_prompts_in_one_batch = 65536;

void run_engines(Setup& setup, parallel::Communicator& world, std::int64_t steps, bool evaluates,
                 const base::Stopwatch& watch) {
  start_run(setup, world);
  parallel::Layout layout(world, setup.plan);
  Circle circle(setup, layout,
                {.steps = steps,
                 .trains = false,
                 .version = base::WeightVersion(setup.weight_version),
                 .evaluates = evaluates});
  circle.run();
  (void)circle.close(watch);
  layout.close();
}

/// Without --num-rollout a file's prompts are answered once each, in one batch.
std::int64_t plan_generation(Setup& setup) {
  auto& options = setup.configuration.buffer;
  if (options.num_rollout || options.num_epoch) {
    return options.rollout_steps(setup.prompts->size());
  }
  if (options.over_samples()) {
    throw base::UserError("each prompt is answered once, so nothing is over-sampled or filtered",
                          "--over-sampling-batch-size, --dynamic-sampling-filter",
                          "give --num-rollout, or leave them out");
  }
  if (setup.prompts->size() > most_prompts_in_one_batch) {
    throw base::UserError("there are too many prompts for one batch", "--num-rollout",
                          "say how many batches of --rollout-batch-size prompts you want");
  }
  options.rollout_batch_size = setup.prompts->size();
  options.global_batch_size.reset();
  options.num_steps_per_rollout.reset();
  options.num_rollout = 1;
  return 1;
}

}  // namespace

base::ExitCode run_evaluate(const std::vector<std::string>& arguments,
                            parallel::Communicator& world) {
  const base::Stopwatch watch;
  Setup setup = load_setup("evaluate", arguments, Needs::engines, world);
  parallel::together(world, [&] {
    if (setup.held_out.empty()) {
      throw base::UserError("there is nothing to evaluate on", "--eval-prompt-data",
                            "name a prompt file, or take an environment that makes problems");
    }
  });
  setup.configuration.buffer.skip_eval_before_train = false;
  setup.configuration.buffer.num_rollout = 1;
  run_engines(setup, world, 0, true, watch);
  return base::ExitCode::done;
}

base::ExitCode run_generate(const std::vector<std::string>& arguments,
                            parallel::Communicator& world) {
  const base::Stopwatch watch;
  Setup setup = load_setup("generate", arguments, Needs::engines, world);
  std::int64_t steps = 0;
  parallel::together(world, [&] { steps = plan_generation(setup); });
  setup.configuration.buffer.save_samples = true;
  run_engines(setup, world, steps, false, watch);
  return base::ExitCode::done;
}

}  // namespace physarum::app
