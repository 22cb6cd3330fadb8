#include <cstdio>

#include "physarum/parallel/agree.hpp"

#include "physarum/model/parameter_layout.hpp"

#include "command.hpp"
#include "memory_plan.hpp"
#include "setup.hpp"

namespace physarum::app {

base::ExitCode run_check(const std::vector<std::string>& arguments, parallel::Communicator& world) {
  // `--ranks N` asks about another number of ranks than this command runs on.
  std::vector<std::string> rest;
  int ranks = world.size();
  parallel::together(world, [&] {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i] != "--ranks") {
        rest.push_back(arguments[i]);
        continue;
      }
      std::int64_t asked = 0;
      base::OptionTable table;
      table.add("ranks", asked, "ranks to plan for", base::Range<std::int64_t>{1, 1 << 24});
      (void)base::read_arguments(
          {arguments.begin() + static_cast<std::ptrdiff_t>(i),
           arguments.begin() + static_cast<std::ptrdiff_t>(std::min(i + 2, arguments.size()))},
          table);
      ranks = static_cast<int>(asked);
      ++i;
    }
  });
  const Setup setup = load_setup("check", rest, Needs::circle, world, ranks);
  if (world.rank() != 0) return base::ExitCode::done;
  std::printf("%s\n# layout: %s\n# model: %lld parameters\n", setup.toml.c_str(),
              setup.plan.describe().c_str(), static_cast<long long>(setup.model.parameter_count()));
  for (const auto& line : memory_plan(setup)) std::printf("# memory: %s\n", line.c_str());
  return base::ExitCode::done;
}

}  // namespace physarum::app
