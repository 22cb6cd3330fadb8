#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "physarum/sample/lease.hpp"
#include "physarum/sample/sample_group.hpp"

#include "physarum/exchange/messages.hpp"
#include "physarum/exchange/transport.hpp"

namespace physarum::exchange {

using base::LeaseId;
using base::WeightVersion;

/// An engine's end of the work protocol. Nothing here waits; the rank that leads an engine uses
/// it, from its role loop.
class WorkClient {
 public:
  /// `buffers`: all buffer ranks, first the head, which decides.
  WorkClient(Transport& transport, std::vector<WorldRank> buffers);

  /// One turn: receives, and asks for work if no question is open or more room has come since.
  /// `free_samples`: how many further samples this engine can decode now (0 is fine: it still
  /// learns of new versions and of the end). `current`: version of the engine's weights, invalid
  /// before the first pull. `counters` go with a question. True if a message came.
  bool poll(std::int64_t free_samples, WeightVersion current, const EngineCounters& counters = {});

  /// Leases that came since the last call, in the order in which they should be worked on. A group
  /// may be larger than the room that was offered if the engine had no other work.
  [[nodiscard]] std::vector<sample::Lease> take_leases();
  /// Recalls that came since the last call, of leases that take_leases() gave and that are not
  /// handed in. After one of form `drop` the lease is forgotten: stop working on it. After
  /// `hand_back`: stop, and hand it back. To finish it all the same and hand it in is no error.
  [[nodiscard]] std::vector<Recall> take_recalls();
  /// Newest version that the head has told of; invalid at first. Its weights can be pulled.
  [[nodiscard]] WeightVersion newest_version() const { return newest_; }
  /// Leases that were received and not handed in.
  [[nodiscard]] std::int64_t leases_in_flight() const;

  /// Hands in all samples of a lease that came from take_leases(). Throws ContractViolation if the
  /// group breaks an invariant or does not belong to such a lease. Members of status `aborted` make
  /// the buffer lend the group again.
  void hand_in(const sample::SampleGroup& group);

  /// Hands back a recalled lease: all its samples, those that are not finished with status
  /// `aborted` and the tokens that they have. Throws ContractViolation like hand_in(), and if none
  /// is aborted.
  void hand_back(const sample::SampleGroup& group);

  /// Tells the head why the run cannot go on; the head ends it.
  void raise_alarm(std::string_view why);

  /// True when the run is over: drop what is in flight, stop polling. Goodbye has been said.
  [[nodiscard]] bool finished() const { return finished_; }
  /// Messages that could not be read, dropped.
  [[nodiscard]] std::int64_t malformed_messages() const { return malformed_; }

 private:
  void receive(const Envelope& envelope);
  void recall(const Recall& recall);
  void check_answer(const sample::SampleGroup& group) const;
  void ask(std::int64_t free_samples, WeightVersion current, const EngineCounters& counters);
  void end();
  Transport& transport_;
  std::vector<WorldRank> buffers_;
  std::optional<std::int64_t> asked_free_;  ///< room stated in the open question
  std::int64_t replies_ = 0;                ///< answers seen so far
  std::vector<sample::Lease> fresh_;
  std::vector<Recall> recalls_;
  struct Held {
    base::GroupId group;
    sample::Purpose purpose;
    std::int64_t n_samples;
    base::SampleId first_sample;
    int owner;
  };
  std::unordered_map<LeaseId, Held> held_;
  WeightVersion newest_;
  bool finished_ = false;
  std::int64_t malformed_ = 0;
};

}  // namespace physarum::exchange
