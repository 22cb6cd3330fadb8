#include "head.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "physarum/base/error.hpp"
#include "physarum/base/logging.hpp"

#include "physarum/buffer/server.hpp"

namespace physarum::buffer {

using exchange::MessageKind;

Head::Head(ServerContext& context, GroupDesk& groups)
    : context_(context),
      groups_(groups),
      schedule_(context.settings),
      work_(context, schedule_),
      retired_(context, groups),
      takes_(context, schedule_, work_, retired_) {
  if (context.settings.initial_version) publish(*context.settings.initial_version);
}

bool Head::receive(const exchange::Envelope& envelope) {
  last_message_s_ = context_.clock.served_s();
  switch (envelope.kind) {
    case MessageKind::work_request:
    case MessageKind::alarm:
    case MessageKind::hand_back:
    case MessageKind::arrival:
      receive_engine(envelope);
      return true;
    case MessageKind::take_request:
    case MessageKind::fetched:
    case MessageKind::published:
    case MessageKind::step_report:
    case MessageKind::finish:
    case MessageKind::snapshot_request:
    case MessageKind::notice:
      receive_trainer(envelope);
      return true;
    case MessageKind::stop_request:
      (void)exchange::decode<exchange::StopRequest>(envelope.bytes);
      ask_stop();
      return true;
    case MessageKind::archive_ready:
      retired_.ready(envelope.peer, exchange::decode<exchange::ArchiveReady>(envelope.bytes).step);
      return true;
    default:
      return false;
  }
}

/// What engines do reaches the head as questions, or through the rank that owns the group.
void Head::receive_engine(const exchange::Envelope& envelope) {
  if (envelope.kind == MessageKind::work_request) {
    const auto request = exchange::decode<exchange::WorkRequest>(envelope.bytes);
    work_.ask(envelope.peer, request);
    return;
  }
  if (envelope.kind == MessageKind::alarm) {
    throw EngineAlarm("the engine on rank " + std::to_string(envelope.peer.value()) +
                      " cannot go on: " + exchange::decode<exchange::Alarm>(envelope.bytes).text);
  }
  if (envelope.kind == MessageKind::hand_back) {
    auto message = exchange::decode<exchange::HandBack>(envelope.bytes);
    return work_.take_back(envelope.peer, std::move(message.group));
  }
  const auto arrival = exchange::decode<exchange::Arrival>(envelope.bytes);
  context_.attendance.heard({arrival.engine, Party::engine}, context_.clock.served_s());
  work_.arrive(arrival);
}

void Head::receive_trainer(const exchange::Envelope& envelope) {
  const auto& bytes = envelope.bytes;
  switch (envelope.kind) {
    case MessageKind::take_request:
      return takes_.ask(envelope.peer, exchange::decode<exchange::TakeRequest>(bytes).step);
    case MessageKind::fetched:
      return takes_.fetched(envelope.peer, exchange::decode<exchange::Fetched>(bytes).step);
    case MessageKind::published:
      return publish(exchange::decode<exchange::Published>(bytes).version);
    case MessageKind::notice: {
      const auto notice = exchange::decode<exchange::Notice>(bytes);
      if (context_.reports.notice) context_.reports.notice(notice.warning, notice.text);
      return;
    }
    case MessageKind::snapshot_request:
      snapshot_step_ = exchange::decode<exchange::SnapshotRequest>(bytes).step;
      takes_.pause(true);
      return;
    case MessageKind::finish:
      (void)exchange::decode<exchange::Finish>(bytes);
      finish_asked_ = true;
      return;
    default:
      break;
  }
  const auto report = exchange::decode<exchange::StepReport>(bytes);
  if (context_.reports.step_reported) context_.reports.step_reported(report.step, report.metrics);
  retired_.learnt(report.step);
}

void Head::publish(WeightVersion version) {
  if (!schedule_.publish(version))
    throw base::MalformedBytes("a version was published that is not newer than the last");
}

void Head::lose(WorldRank peer) {
  work_.drop(peer);
  if (context_.attendance.count(Party::engine) == 0 && !ending_)
    throw base::WorldError("engines", peer.value(), "the last engine is lost");
}

bool Head::advance() {
  bool did = work_.advance();
  did = end_evaluation() || did;
  did = takes_.advance() || did;
  did = retired_.advance() || did;
  did = look_for_trigger() || did;
  did = make_snapshot() || did;
  did = end_run() || did;
  check_patience();
  return did;
}

bool Head::end_evaluation() {
  const auto* evaluation = schedule_.evaluation();
  if (evaluation == nullptr || !evaluation->complete()) return false;
  const WeightVersion version = evaluation->version();
  if (context_.reports.evaluation_done)
    context_.reports.evaluation_done(version, evaluation->metrics());
  retired_.retire(version.value(), sample::Purpose::evaluate,
                  "eval_" + std::to_string(version.value()) + ".h5", evaluation->groups());
  schedule_.end_evaluation();
  return true;
}

/// Once a second is soon enough, and kind to the file system's metadata server.
bool Head::look_for_trigger() {
  const auto& trigger = context_.settings.save_trigger;
  if (trigger.empty() || context_.clock.now_s() - trigger_looked_s_ < 1) return false;
  trigger_looked_s_ = context_.clock.now_s();
  auto& files = *context_.settings.archive.files;
  if (!files.exists(trigger)) return false;
  base::log_info("a checkpoint is asked for by " + trigger.string());
  files.remove(trigger);
  takes_.send_errand(exchange::Errand::save);
  return true;
}

/// Between two batches: nothing is half taken, and every file of a step before is complete.
bool Head::make_snapshot() {
  if (!snapshot_step_ || !takes_.idle() || !retired_.idle()) return false;
  const std::int64_t step = *std::exchange(snapshot_step_, {});
  BufferState state;
  state.purpose = context_.settings.purpose;
  state.step = step;
  state.fresh_group = schedule_.training().fresh();
  state.next_lease = work_.next_lease();
  state.open = schedule_.training().open_groups();
  std::vector<base::GroupId> stored;
  for (const auto& open : state.open) {
    if (open.state == OpenGroup::State::stored) stored.push_back(open.group);
  }
  // What was taken ahead is taken again by the run that goes on.
  for (const auto group : retired_.held_from(step)) {
    stored.push_back(group);
    state.open.push_back({group, OpenGroup::State::stored, {}});
  }
  for (const auto& [id, group] : schedule_.unfinished()) state.unfinished.push_back(group);
  std::ranges::sort(stored);
  std::ranges::sort(state.open, {}, &OpenGroup::group);
  state.evaluations = schedule_.open_evaluations();
  state.counters = context_.counters;
  if (context_.reports.save_state) state.report = context_.reports.save_state();
  for (const auto buffer : context_.settings.peers.buffers) {
    if (buffer != context_.transport.rank())
      exchange::send(context_.transport, buffer, exchange::SnapshotOrder{step, stored});
  }
  groups_.send_snapshot(step, std::move(state), stored);
  takes_.pause(false);
  return true;
}

bool Head::work_is_over() const {
  const bool wanted = context_.settings.peers.trainers.empty() ? takes_.done() : finish_asked_;
  // A run that is asked to stop leaves its evaluations to the one that goes on.
  const bool evaluated = schedule_.evaluation() == nullptr || takes_.stopping();
  return wanted && takes_.idle() && evaluated && retired_.idle();
}

/// First engines are told; when all clients have gone, the other buffer ranks.
bool Head::end_run() {
  if (!ending_) {
    if (!work_is_over()) return false;
    ending_ = true;
    work_.end();
    return true;
  }
  const auto& attendance = context_.attendance;
  if (over_ || attendance.count(Party::engine) + attendance.count(Party::trainer) > 0) return false;
  for (const auto buffer : context_.settings.peers.buffers) {
    if (buffer != context_.transport.rank())
      exchange::send(context_.transport, buffer, exchange::Shutdown{});
  }
  over_ = true;
  return true;
}

void Head::check_patience() {
  const double limit_s = context_.settings.options.patience_s();
  const double now = context_.clock.served_s();
  const auto silent = context_.attendance.silent_since(now - limit_s);
  const bool stalled = now - last_message_s_ > limit_s && context_.attendance.all_wait() &&
                       work_.leases() == 0 && !over_;
  if (!silent && !stalled) return;
  throw base::DeadlineExceeded((silent ? buffer::describe(*silent) + " has been silent"
                                       : std::string("nobody has had anything to do")) +
                               " for " + std::to_string(limit_s) +
                               " s (--distributed-timeout-minutes): " + describe());
}

std::string Head::describe() const {
  std::string text = ending_ ? "the run is ending; " : "";
  if (const auto* evaluation = schedule_.evaluation()) {
    text += "evaluation of version " + std::to_string(evaluation->version().value()) + ": " +
            std::to_string(evaluation->stored()) + " of " + std::to_string(evaluation->total()) +
            " groups; ";
  }
  return text + takes_.describe() + ", " + work_.describe() + ", version " +
         std::to_string(schedule_.published().value()) + ", " + retired_.describe() +
         "; present: " + context_.attendance.describe_present();
}

}  // namespace physarum::buffer
