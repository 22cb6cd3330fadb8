#pragma once

#include <optional>
#include <span>
#include <string>

#include "physarum/base/deadline.hpp"
#include "physarum/base/error.hpp"

#include "physarum/parallel/layout.hpp"

#include "physarum/exchange/mpi_transport.hpp"

#include "buffer_role.hpp"
#include "engine_figures.hpp"
#include "engine_role.hpp"
#include "summary.hpp"
#include "trainer_role.hpp"
#include "weight_wiring.hpp"

namespace physarum::app {

/// This rank's parts of the circle, one to three of them, wired together. Every command that
/// generates is such a circle, with trainer ranks or without.
class Circle {
 public:
  /// Collective over the layout's world. `task.trains` false: no trainer; the head publishes the
  /// first weights itself.
  Circle(Setup& setup, parallel::Layout& layout, BufferTask task);

  /// Runs this rank's roles to the end of the task.
  void run();
  /// Collective over the world. Writes what is left to write; the head writes the summary. How the
  /// run ended, the same on all ranks.
  base::ExitCode close(const base::Stopwatch& watch);

 private:
  void make_buffer_and_engine();
  void make_trainer(std::span<const float> initial);
  void publish_alone(std::span<const float> initial);
  void serve_to_the_end(bool hooked);
  /// If a signal asks this rank to stop, the head is told, once.
  void pass_signal_on();
  /// What only the first trainer knows, told to all.
  struct Ending {
    base::ExitCode exit = base::ExitCode::done;
    std::int64_t written = 0;
    std::int64_t failed = 0;
    std::int64_t last_step = -1;
  };
  [[nodiscard]] Ending ending() const;
  void write_summary(const base::Stopwatch& watch, const Ending& ending,
                     std::span<const EngineFigures> engines);
  void report_rollouts(Summary& summary, std::span<const EngineFigures> engines);

  Setup& setup_;
  parallel::Layout& layout_;
  BufferTask task_;
  exchange::MpiTransport transport_;
  weights::WeightExchange weights_;
  bool signal_passed_on_ = false;
  std::string checksum_;  ///< of the weights; on ranks that hold them
  std::string state_checksum_, resumed_state_checksum_;  ///< with the optimiser; on trainers
  std::optional<BufferRole> buffer_;
  std::optional<EngineRole> engine_;
  std::optional<TrainerRole> trainer_;
};

}  // namespace physarum::app
