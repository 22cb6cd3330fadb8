#pragma once

#include <memory>
#include <optional>

#include "physarum/parallel/layout.hpp"

#include "physarum/weights/weight_store.hpp"

#include "physarum/exchange/transport.hpp"

#include "physarum/buffer/server.hpp"

#include "reporter.hpp"
#include "setup.hpp"

namespace physarum::app {

/// What a command asks of the buffer besides the configuration.
struct BufferTask {
  std::int64_t steps = 0;  ///< rollout steps
  bool trains = true;      ///< false: no trainer ranks; engines have `version`
  std::optional<base::WeightVersion> version;
  bool evaluates = true;
};

/// A buffer rank's part of the circle: serve messages, fold weights; on the head, report.
class BufferRole {
 public:
  /// `store` may be null (no weights travel). Does not communicate.
  BufferRole(const Setup& setup, parallel::Layout& layout, exchange::Transport& transport,
             weights::WeightStore* store, const BufferTask& task);

  /// One turn; true if it did something.
  bool advance();
  [[nodiscard]] bool finished() const { return server_.finished(); }
  /// The head's; null on other buffer ranks.
  [[nodiscard]] RunReporter* reporter() { return reporter_.get(); }
  /// A signal asks for the end.
  void ask_stop() { server_.ask_stop(); }
  [[nodiscard]] const buffer::ServerCounters& counters() const { return server_.counters(); }

 private:
  weights::WeightStore* store_;
  std::unique_ptr<RunReporter> reporter_;
  buffer::BufferServer server_;
};

}  // namespace physarum::app
