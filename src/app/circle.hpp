#pragma once

#include <optional>
#include <string>

#include "physarum/base/deadline.hpp"

#include "physarum/parallel/layout.hpp"

#include "physarum/exchange/mpi_transport.hpp"

#include "buffer_role.hpp"
#include "engine_role.hpp"
#include "trainer_role.hpp"
#include "weight_wiring.hpp"

namespace physarum::app {

/// This rank's parts of the circle, one to three of them, wired together. Every command that
/// generates is such a circle, with trainer ranks or without.
class Circle {
 public:
  /// Collective over the layout's world. `task.trains` false: no trainer; the head publishes the
  /// first weights itself.
  Circle(const Setup& setup, parallel::Layout& layout, BufferTask task);

  /// Runs this rank's roles to the end of the task.
  void run();
  /// Collective over the world. Writes what is left to write; the head writes the summary.
  void close(const base::Stopwatch& watch);

 private:
  void make_buffer_and_engine();
  void make_trainer(std::span<const float> initial);
  void publish_alone(std::span<const float> initial);
  void serve_to_the_end(bool hooked);
  void write_summary(const base::Stopwatch& watch, const std::string& checksum);

  const Setup& setup_;
  parallel::Layout& layout_;
  BufferTask task_;
  exchange::MpiTransport transport_;
  weights::WeightExchange weights_;
  std::string checksum_;  ///< of the weights; on ranks that hold them
  std::optional<BufferRole> buffer_;
  std::optional<EngineRole> engine_;
  std::optional<TrainerRole> trainer_;
};

}  // namespace physarum::app
