// Ends in the way that its first argument names; ending_test.sh looks at what the user sees.

#include <csignal>
#include <cstdio>
#include <string>

#include "physarum/base/error.hpp"

#include "physarum/parallel/agree.hpp"
#include "physarum/parallel/session.hpp"
#include "physarum/parallel/wait.hpp"

namespace {
using namespace physarum;
using parallel::Communicator;

volatile std::sig_atomic_t asked_to_stop = 0;

/// All ranks find the user's error together, close nothing, and end through finish().
int user_error(parallel::Session& session) {
  try {
    Communicator group = session.world().split(0, 0, "group");
    parallel::together(session.world(), [&] {
      if (session.world().rank() == session.world().size() - 1) {
        throw base::UserError("unknown key 'lrr'", "run.toml:3", "did you mean 'lr'?");
      }
    });
  } catch (const base::UserError& error) {
    if (session.world().rank() == 0) std::fprintf(stderr, "physarum: %s\n", error.what());
    session.finish();
    return 2;
  }
  return 0;
}

/// The last rank never comes; the others' wait ends by its deadline.
int late_rank(parallel::Session& session) {
  auto& world = session.world();
  world.set_patience_s(0.5);
  const parallel::Phase phase("publish");
  try {
    if (world.rank() == world.size() - 1)
      (void)parallel::wait_until([] { return false; }, base::Deadline::in(60));
    world.barrier();
  } catch (const base::DeadlineExceeded& error) {
    if (world.rank() == 0) {
      std::fprintf(stderr, "physarum: %s\n", error.what());
      parallel::abort_job(3);
    }
    (void)parallel::wait_until([] { return false; }, base::Deadline::in(60));
  }
  return 0;
}

int signalled(parallel::Session& session) {
  std::signal(SIGUSR1, [](int) { asked_to_stop = 1; });
  session.world().barrier();
  if (session.world().rank() == 0) std::fprintf(stderr, "ready\n");
  const bool seen = parallel::wait_until([] { return asked_to_stop != 0; }, base::Deadline::in(60));
  const bool all = session.world().agree(seen);
  session.finish();
  return all ? 75 : 1;
}
}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  parallel::Session session(argc, argv);
  const bool last = session.world().rank() == session.world().size() - 1;
  if (how == "user-error") return user_error(session);
  if (how == "late-rank") return late_rank(session);
  if (how == "signal") return signalled(session);
  if (how == "leave" && last) parallel::leave(3);
  if (how == "kill" && last) std::raise(SIGKILL);
  if (how == "leave" || how == "kill") session.world().barrier();
  return 0;
}
