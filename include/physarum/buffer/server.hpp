#pragma once

#include <memory>
#include <stdexcept>

#include "physarum/parallel/communicator.hpp"

#include "physarum/exchange/transport.hpp"

#include "physarum/buffer/server_settings.hpp"

namespace physarum::buffer {

/// An engine has said why the run cannot go on.
class EngineAlarm : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A buffer rank. All buffer ranks store groups and serve them; the first one, the head, also
/// decides who works on what. It runs as a rank's role loop, or as a progress hook of a rank that
/// has other roles too.
///
/// With an archive directory and more than one buffer rank, writing a batch is collective over the
/// buffer group: meanwhile none of its ranks may sit in a collective that does not serve hooks.
class BufferServer {
 public:
  /// `transport` and `buffer_group` (this rank's communicator of the buffer ranks; null if alone)
  /// outlive the server. Does not communicate. Throws UserError for settings that cannot work.
  BufferServer(exchange::Transport& transport, const parallel::Communicator& buffer_group,
               ServerSettings settings, ServerReports reports = {});
  ~BufferServer();
  BufferServer(const BufferServer&) = delete;
  BufferServer& operator=(const BufferServer&) = delete;
  BufferServer(BufferServer&&) = delete;
  BufferServer& operator=(BufferServer&&) = delete;

  /// One turn; waits only while an archive is written. True if it did something. Throws
  /// DeadlineExceeded naming rank and phase if a client has been silent for too long or if nothing
  /// can go on, WorldError if a file could not be written, and on the head EngineAlarm.
  bool advance();
  /// True when all clients and all other buffer ranks have said goodbye: nothing more will come.
  [[nodiscard]] bool finished() const;

  /// A signal asks this rank for a checkpoint and the end of the run. Without trainers there is
  /// nothing to save and it has no effect.
  void ask_stop();

  [[nodiscard]] const ServerCounters& counters() const;
  /// One line for logs: what is stored, lent, waited for.
  [[nodiscard]] std::string describe() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace physarum::buffer
