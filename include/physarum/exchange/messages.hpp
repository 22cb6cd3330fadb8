#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "physarum/base/metrics.hpp"

#include "physarum/sample/batch.hpp"
#include "physarum/sample/lease.hpp"
#include "physarum/sample/sample_group.hpp"

#include "physarum/exchange/engine_counters.hpp"
#include "physarum/exchange/transport.hpp"

/// What travels between engines, trainers and buffer ranks. Every message has its kind, an encoding
/// and a decoding that throws base::MalformedBytes. docs/formats/messages.md describes the
/// protocol.
namespace physarum::exchange {

using base::GroupId;
using base::LeaseId;
using base::SampleId;
using base::WeightVersion;

using ByteView = std::span<const std::byte>;

/// Engine to head. Parked there until there is work, a newer version or the end.
struct WorkRequest {
  static constexpr MessageKind kind = MessageKind::work_request;
  std::int64_t free_samples = 0;
  std::int64_t replies_seen = 0;  ///< a request that crossed a reply is void: another one follows
  WeightVersion known;            ///< newest version that the engine was told of
  WeightVersion current;          ///< version of its weights
  EngineCounters counters = {};
};

enum class RunState : std::uint8_t { going, over };

/// What becomes of a lease that nobody waits for any more.
enum class RecallForm : std::uint8_t {
  hand_back,  ///< what there is comes back to the head, to be finished under another lease
  drop,       ///< nothing of it is wanted
};

struct Recall {
  LeaseId lease;
  RecallForm form = RecallForm::hand_back;
  friend bool operator==(const Recall&, const Recall&) = default;
};

struct WorkReply {
  static constexpr MessageKind kind = MessageKind::work_reply;
  std::vector<sample::Lease> leases;
  WeightVersion newest;
  RunState state = RunState::going;
  std::vector<Recall> recalls =
      {};  ///< of leases in earlier replies; finished ones come in as ever
};

struct TakeRequest {
  static constexpr MessageKind kind = MessageKind::take_request;
  std::int64_t step = 0;
};

struct TakeReply {
  static constexpr MessageKind kind = MessageKind::take_reply;
  sample::BatchPlan plan;
};

struct SampleKey {
  GroupId group;
  SampleId sample;
  friend bool operator==(const SampleKey&, const SampleKey&) = default;
};

struct FetchRequest {
  static constexpr MessageKind kind = MessageKind::fetch_request;
  std::int64_t step = 0;
  std::vector<SampleKey> samples;
};

struct FetchReply {
  static constexpr MessageKind kind = MessageKind::fetch_reply;
  std::int64_t step = 0;
  std::vector<sample::Sample> samples;
};

struct Fetched {
  static constexpr MessageKind kind = MessageKind::fetched;
  std::int64_t step = 0;
};

struct Published {
  static constexpr MessageKind kind = MessageKind::published;
  WeightVersion version;
};

struct StepReport {
  static constexpr MessageKind kind = MessageKind::step_report;
  std::int64_t step = 0;
  base::Scalars metrics;
};

/// First trainer to head, between two steps: the buffer's part of a checkpoint of `step` finished
/// steps is wanted. Everything that the trainer sent before is in it.
struct SnapshotRequest {
  static constexpr MessageKind kind = MessageKind::snapshot_request;
  std::int64_t step = 0;
};

/// Head to the other buffer ranks: which groups are in it.
struct SnapshotOrder {
  static constexpr MessageKind kind = MessageKind::snapshot_order;
  std::int64_t step = 0;
  std::vector<GroupId> groups;
};

/// Every buffer rank to the first trainer; the buffer knows how to read it.
struct Snapshot {
  static constexpr MessageKind kind = MessageKind::snapshot;
  std::int64_t step = 0;
  Bytes bytes;
};

enum class Errand : std::uint8_t {
  save,           ///< write a checkpoint, then go on
  save_and_stop,  ///< write a checkpoint, then finish
};
enum class ErrandForm : std::uint8_t { instead_of_batch, before_batch };

/// Head to every trainer, in answer to its question for the batch of `step`: what to do before that
/// step. `instead_of_batch`: the question is answered, ask again; `before_batch`: the batch
/// follows.
struct ErrandOrder {
  static constexpr MessageKind kind = MessageKind::errand;
  std::int64_t step = 0;
  Errand errand = Errand::save;
  ErrandForm form = ErrandForm::instead_of_batch;
};

/// First trainer to head: a line for the user.
struct Notice {
  static constexpr MessageKind kind = MessageKind::notice;
  bool warning = false;
  std::string text;
};

/// Engine to head: why the run cannot go on. The head ends it, so that one rank speaks for all.
struct Alarm {
  static constexpr MessageKind kind = MessageKind::alarm;
  std::string text;
};

/// Any rank that was asked to stop by a signal, to the head.
struct StopRequest {
  static constexpr MessageKind kind = MessageKind::stop_request;
};

struct Finish {
  static constexpr MessageKind kind = MessageKind::finish;
};

/// The last message of its sender to the receiver.
struct Goodbye {
  static constexpr MessageKind kind = MessageKind::goodbye;
  Party role = Party::engine;  ///< of the sender; a colocated rank leaves role by role
};

struct Delivery {
  static constexpr MessageKind kind = MessageKind::delivery;
  sample::SampleGroup group;
};

/// Engine to head: all samples of a recalled lease, at least one of status `aborted` with the
/// tokens that it has. The head keeps them until the group is finished.
struct HandBack {
  static constexpr MessageKind kind = MessageKind::hand_back;
  sample::SampleGroup group;
};

enum class DeliveryOutcome : std::uint8_t {
  stored,
  repeated,  ///< the group was there already, or is done: ignored
  aborted,   ///< a member was given up: not stored
};

/// Owner to head: what became of a delivery.
struct Arrival {
  static constexpr MessageKind kind = MessageKind::arrival;
  GroupId group;
  LeaseId lease;
  WorldRank engine;
  DeliveryOutcome outcome = DeliveryOutcome::stored;
  std::vector<sample::SampleSummary> samples;  ///< if stored
};

enum class ReleaseReason : std::uint8_t {
  done,   ///< later deliveries of these groups are ignored
  again,  ///< they will be delivered once more
};

struct Release {
  static constexpr MessageKind kind = MessageKind::release;
  ReleaseReason reason = ReleaseReason::done;
  std::vector<GroupId> groups;
};

struct ArchiveOrder {
  static constexpr MessageKind kind = MessageKind::archive_order;
  std::int64_t step = 0;
  sample::Purpose purpose = sample::Purpose::train;
  std::string file_name;  ///< within the archive directory
  std::vector<GroupId> groups;
};

struct ArchiveReady {
  static constexpr MessageKind kind = MessageKind::archive_ready;
  std::int64_t step = 0;
};

struct Shutdown {
  static constexpr MessageKind kind = MessageKind::shutdown;
};

[[nodiscard]] Bytes encode(const WorkRequest& message);
[[nodiscard]] Bytes encode(const WorkReply& message);
[[nodiscard]] Bytes encode(const TakeRequest& message);
[[nodiscard]] Bytes encode(const TakeReply& message);
[[nodiscard]] Bytes encode(const FetchRequest& message);
[[nodiscard]] Bytes encode(const FetchReply& message);
[[nodiscard]] Bytes encode(const Fetched& message);
[[nodiscard]] Bytes encode(const Published& message);
[[nodiscard]] Bytes encode(const StepReport& message);
[[nodiscard]] Bytes encode(const SnapshotRequest& message);
[[nodiscard]] Bytes encode(const SnapshotOrder& message);
[[nodiscard]] Bytes encode(const Snapshot& message);
[[nodiscard]] Bytes encode(const ErrandOrder& message);
[[nodiscard]] Bytes encode(const Notice& message);
[[nodiscard]] Bytes encode(const Alarm& message);
[[nodiscard]] Bytes encode(const StopRequest& message);
[[nodiscard]] Bytes encode(const Finish& message);
[[nodiscard]] Bytes encode(const Goodbye& message);
[[nodiscard]] Bytes encode(const Delivery& message);
[[nodiscard]] Bytes encode(const HandBack& message);
[[nodiscard]] Bytes encode(const Arrival& message);
[[nodiscard]] Bytes encode(const Release& message);
[[nodiscard]] Bytes encode(const ArchiveOrder& message);
[[nodiscard]] Bytes encode(const ArchiveReady& message);
[[nodiscard]] Bytes encode(const Shutdown& message);

/// Throws base::MalformedBytes. Defined for every message above.
template <class M>
[[nodiscard]] M decode(ByteView bytes);
template <>
WorkRequest decode<WorkRequest>(ByteView bytes);
template <>
WorkReply decode<WorkReply>(ByteView bytes);
template <>
TakeRequest decode<TakeRequest>(ByteView bytes);
template <>
TakeReply decode<TakeReply>(ByteView bytes);
template <>
FetchRequest decode<FetchRequest>(ByteView bytes);
template <>
FetchReply decode<FetchReply>(ByteView bytes);
template <>
Fetched decode<Fetched>(ByteView bytes);
template <>
Published decode<Published>(ByteView bytes);
template <>
StepReport decode<StepReport>(ByteView bytes);
template <>
SnapshotRequest decode<SnapshotRequest>(ByteView bytes);
template <>
SnapshotOrder decode<SnapshotOrder>(ByteView bytes);
template <>
Snapshot decode<Snapshot>(ByteView bytes);
template <>
ErrandOrder decode<ErrandOrder>(ByteView bytes);
template <>
Notice decode<Notice>(ByteView bytes);
template <>
Alarm decode<Alarm>(ByteView bytes);
template <>
StopRequest decode<StopRequest>(ByteView bytes);
template <>
Finish decode<Finish>(ByteView bytes);
template <>
Goodbye decode<Goodbye>(ByteView bytes);
template <>
Delivery decode<Delivery>(ByteView bytes);
template <>
HandBack decode<HandBack>(ByteView bytes);
template <>
Arrival decode<Arrival>(ByteView bytes);
template <>
Release decode<Release>(ByteView bytes);
template <>
ArchiveOrder decode<ArchiveOrder>(ByteView bytes);
template <>
ArchiveReady decode<ArchiveReady>(ByteView bytes);
template <>
Shutdown decode<Shutdown>(ByteView bytes);

template <class M>
void send(Transport& transport, WorldRank peer, const M& message) {
  transport.send(peer, M::kind, encode(message));
}

}  // namespace physarum::exchange
