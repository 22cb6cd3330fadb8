#include "physarum/parallel/signals.hpp"

#include "circle.hpp"
#include "command.hpp"
#include "start_run.hpp"

namespace physarum::app {

base::ExitCode run_train(const std::vector<std::string>& arguments, parallel::Communicator& world) {
  const base::Stopwatch watch;
  Setup setup = load_setup("train", arguments, Needs::circle, world);
  // Before the long part of the beginning: a signal is remembered until there is something to save.
  if (!setup.checkpoints().empty()) parallel::catch_stop_signals();
  start_run(setup, world);
  parallel::Layout layout(world, setup.plan);
  Circle circle(setup, layout, {.steps = setup.steps, .trains = true, .version = {}});
  circle.run();
  const auto exit = circle.close(watch);
  layout.close();
  return exit;
}

}  // namespace physarum::app
