#pragma once

#include "physarum/parallel/communicator.hpp"

#include "physarum/exchange/transport.hpp"

#include "physarum/buffer/server_settings.hpp"

#include "attendance.hpp"
#include "served_clock.hpp"

namespace physarum::buffer {

/// What all parts of one rank's server share.
struct ServerContext {
  exchange::Transport& transport;
  const parallel::Communicator& buffer_group;
  const ServerSettings& settings;
  const ServerReports& reports;
  ServerCounters& counters;
  Attendance& attendance;
  const ServedClock& clock;

  [[nodiscard]] bool is_head() const { return transport.rank() == settings.peers.head(); }
};

}  // namespace physarum::buffer
