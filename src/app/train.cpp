#include "circle.hpp"
#include "command.hpp"
#include "start_run.hpp"

namespace physarum::app {

base::ExitCode run_train(const std::vector<std::string>& arguments, parallel::Communicator& world) {
  const base::Stopwatch watch;
  Setup setup = load_setup("train", arguments, Needs::circle, world);
  start_run(setup, world);
  parallel::Layout layout(world, setup.plan);
  Circle circle(setup, layout, {.steps = setup.steps, .trains = true, .version = {}});
  circle.run();
  const auto exit = circle.close(watch);
  layout.close();
  return exit;
}

}  // namespace physarum::app
