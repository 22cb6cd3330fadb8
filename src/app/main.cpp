#include "physarum/app/main.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>
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

/// Null if there is none.
const Command* find_command(const std::string& name) {
  const auto& all = commands();
  const auto found = std::ranges::find_if(all, [&](const Command& c) { return name == c.name; });
  return found == all.end() ? nullptr : &*found;
}

const Command& require_command(const std::string& name) {
  if (const Command* command = find_command(name)) return *command;
  std::vector<std::string> names;
  for (const auto& command : commands()) names.emplace_back(command.name);
  const auto nearest = base::nearest_word(name, names);
  throw base::UserError(
      "unknown command '" + name + "'", "command line",
      nearest ? "did you mean '" + *nearest + "'?" : "physarum --help lists the commands");
}

bool asks_for(const std::vector<std::string>& words, const char* flag) {
  return std::ranges::find(words, flag) != words.end();
}

/// The text that the words ask for and that needs no rank but the reader's own: help and version.
std::optional<std::string> asked_text(const std::vector<std::string>& words) {
  if (words.empty()) return std::nullopt;
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    return asks_for(words, "--markdown") ? options_markdown() : usage_text();
  }
  if (words[0] == "--version") return version_text();
  const Command* command = find_command(words[0]);
  const bool asks = asks_for(words, "--help") || asks_for(words, "-h");
  return command != nullptr && asks ? std::optional(command_text(*command)) : std::nullopt;
}

ExitCode dispatch(const std::vector<std::string>& words, Communicator& world) {
  if (words.empty()) {
    if (world.rank() == 0) std::fputs(usage_text().c_str(), stderr);
    return ExitCode::user_error;
  }
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  return require_command(words[0]).run(rest, world);
}

/// What escapes on one rank only: it says so and ends the job; the other ranks may be waiting.
[[noreturn]] void die(const Communicator& world, const std::string& text, ExitCode code) {
  const std::string line =
      world.describe() + ", phase '" + parallel::Phase::current() + "': " + text;
  base::log_error(line);
  base::stop_logging();
  // The first rank's log goes to the terminal too, those of others to their files alone.
  if (world.rank() != 0) print_error(line);
  parallel::abort_job(static_cast<int>(code));
}

}  // namespace

int run(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  // Without MPI, so that it answers at once, and on a login node where MPI may not start.
  if (const auto text = asked_text(words)) {
    if (parallel::announced_rank() == 0) std::fputs(text->c_str(), stdout);
    return static_cast<int>(ExitCode::done);
  }
  parallel::Session session(argc, argv);
  Communicator& world = session.world();
  ExitCode code = ExitCode::done;
  try {
    code = dispatch(words, world);
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
