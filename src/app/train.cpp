#include "circle.hpp"
#include "command.hpp"

namespace physarum::app {

base::ExitCode run_train(const std::vector<std::string>& arguments, parallel::Communicator& world) {
  const base::Stopwatch watch;
  const Setup setup = load_setup("train", arguments, Needs::circle, world);
  start_run(setup, world);
  parallel::Layout layout(world, setup.plan);
  Circle circle(setup, layout, {.steps = setup.steps, .trains = true, .version = {}});
  circle.run();
  circle.close(watch);
  layout.close();
  return base::ExitCode::done;
}

}  // namespace physarum::app
