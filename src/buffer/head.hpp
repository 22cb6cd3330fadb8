#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "physarum/exchange/messages.hpp"

#include "retire_desk.hpp"
#include "schedule.hpp"
#include "server_context.hpp"
#include "take_desk.hpp"
#include "work_desk.hpp"

namespace physarum::buffer {

/// What only the first buffer rank does: decide. It reads the messages for the head and lets its
/// desks take their turns.
class Head {
 public:
  Head(ServerContext& context, GroupDesk& groups);

  /// True if the message was one for the head. Throws MalformedBytes.
  bool receive(const exchange::Envelope& envelope);
  /// An engine died; any other death ends the run.
  void lose(WorldRank peer);
  /// A signal asks for a checkpoint and the end of the run.
  void ask_stop() { takes_.send_errand(exchange::Errand::save_and_stop); }
  /// One turn.
  bool advance();
  /// True when the others have been told that it is over.
  [[nodiscard]] bool over() const { return over_; }
  [[nodiscard]] std::string describe() const;

 private:
  void receive_engine(const exchange::Envelope& envelope);
  void receive_trainer(const exchange::Envelope& envelope);
  void publish(WeightVersion version);
  bool end_evaluation();
  bool look_for_trigger();
  bool make_snapshot();
  [[nodiscard]] bool work_is_over() const;
  bool end_run();
  void check_patience();

  ServerContext& context_;
  GroupDesk& groups_;
  Schedule schedule_;
  WorkDesk work_;
  RetireDesk retired_;
  TakeDesk takes_;
  bool finish_asked_ = false;  ///< the first trainer wants no further batch
  bool ending_ = false;        ///< engines are being told
  bool over_ = false;
  double last_message_s_ = 0;
  std::optional<std::int64_t> snapshot_step_;  ///< of the checkpoint that is being asked for
  double trigger_looked_s_ = -1;               ///< looks at once
};

}  // namespace physarum::buffer
