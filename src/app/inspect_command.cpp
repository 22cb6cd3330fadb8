#include <cstdio>

#include "physarum/base/error.hpp"
#include "physarum/base/options.hpp"

#include "physarum/parallel/agree.hpp"

#include "command.hpp"
#include "inspect.hpp"

namespace physarum::app {

base::ExitCode run_inspect(const std::vector<std::string>& arguments,
                           parallel::Communicator& world) {
  bool good = true;
  parallel::together(world, [&] {
    bool verify = true;
    base::OptionTable table;
    table.add_switch("verify", verify, "Read all data and compare its digests.");
    const auto paths = base::read_arguments(arguments, table);
    if (paths.empty()) {
      throw base::UserError("inspect takes at least one path", "command line",
                            "physarum inspect runs/NAME/checkpoints");
    }
    if (world.rank() != 0) return;
    for (const auto& path : paths) {
      const auto found = inspect(path, verify ? Verify::data : Verify::nothing);
      for (const auto& line : found.lines) std::printf("%s\n", line.c_str());
      good = good && found.good;
    }
  });
  if (world.agree(good)) return base::ExitCode::done;
  if (world.rank() == 0) std::fprintf(stderr, "physarum: error: some of it is damaged\n");
  return base::ExitCode::user_error;
}

}  // namespace physarum::app
