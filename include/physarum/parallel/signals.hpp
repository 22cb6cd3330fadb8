#pragma once

namespace physarum::parallel {

/// From now on SIGUSR1 and SIGTERM ask this process to stop at the next good moment instead of
/// ending it. A second one, more than a second after the first (launchers send some twice), ends it
/// at once by its default action. Call it once, after the session began. Any rank, any thread.
void catch_stop_signals();

/// The signal that asked, or 0. Any thread.
[[nodiscard]] int stop_signal() noexcept;

}  // namespace physarum::parallel
