#include "physarum/app/main.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"
#include "physarum/base/logging.hpp"
#include "physarum/base/options.hpp"

#include "physarum/parallel/session.hpp"
#include "physarum/parallel/wait.hpp"

#include "command.hpp"
#include "help.hpp"

namespace physarum::app {

namespace {

using base::ExitCode;
using parallel::Communicator;

void print_error(const std::string& text) {
  std::fprintf(stderr, "physarum: error: %s\n", text.c_str());
}

const Command& find_command(const std::string& name) {
  const auto& all = commands();
  const auto found = std::ranges::find_if(all, [&](const Command& c) { return name == c.name; });
  if (found != all.end()) return *found;
  std::vector<std::string> names;
  for (const auto& command : all) names.emplace_back(command.name);
  const auto nearest = base::nearest_word(name, names);
  throw base::UserError(
      "unknown command '" + name + "'", "command line",
      nearest ? "did you mean '" + *nearest + "'?" : "physarum --help lists the commands");
}

bool asks_for(const std::vector<std::string>& words, const char* flag) {
  return std::ranges::find(words, flag) != words.end();
}

ExitCode dispatch(const std::vector<std::string>& words, Communicator& world) {
  const bool speaks = world.rank() == 0;
  if (words.empty()) {
    if (speaks) std::fputs(usage_text().c_str(), stderr);
    return ExitCode::user_error;
  }
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    if (speaks)
      std::fputs(asks_for(words, "--markdown") ? options_markdown().c_str() : usage_text().c_str(),
                 stdout);
    return ExitCode::done;
  }
  if (words[0] == "--version") {
    if (speaks) std::fputs(version_text().c_str(), stdout);
    return ExitCode::done;
  }
  const Command& command = find_command(words[0]);
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  if (asks_for(rest, "--help") || asks_for(rest, "-h")) {
    if (speaks) std::fputs(command_text(command).c_str(), stdout);
    return ExitCode::done;
  }
  return command.run(rest, world);
}

/// What escapes on one rank only: it says so and ends the job; the other ranks may be waiting.
[[noreturn]] void die(const Communicator& world, const std::string& text, ExitCode code) {
  const std::string line =
      world.describe() + ", phase '" + parallel::Phase::current() + "': " + text;
  base::log_error(line);
  base::stop_logging();
  print_error(line);
  parallel::abort_job(static_cast<int>(code));
}

}  // namespace

int run(int argc, char** argv) {
  parallel::Session session(argc, argv);
  Communicator& world = session.world();
  ExitCode code = ExitCode::done;
  try {
    code = dispatch({argv + 1, argv + argc}, world);
  } catch (const base::UserError& error) {
    // Commands throw the user's errors on all ranks together, so one rank speaks and MPI can end.
    if (world.rank() == 0) print_error(error.what());
    code = ExitCode::user_error;
  } catch (const base::ContractViolation& error) {
    die(world, std::string("this is a mistake in the program: ") + error.what(),
        ExitCode::rank_failed);
  } catch (const std::exception& error) {
    die(world, error.what(), ExitCode::rank_failed);
  }
  base::stop_logging();
  session.finish();
  return static_cast<int>(code);
}

}  // namespace physarum::app
