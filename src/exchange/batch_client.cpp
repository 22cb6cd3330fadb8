#include "physarum/exchange/batch_client.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "physarum/base/contracts.hpp"
#include "physarum/base/logging.hpp"

namespace physarum::exchange {

BatchClient::BatchClient(Transport& transport, std::vector<WorldRank> buffers, TrainerSeat seat)
    : transport_(transport), buffers_(std::move(buffers)), seat_(seat) {
  base::expects(!buffers_.empty(), "there is a head to ask");
}

void BatchClient::request(std::int64_t step) {
  if (asked_ == step) return;
  base::expects(!asked_, "one batch is asked for at a time");
  send(transport_, head(), TakeRequest{step});
  asked_ = step;
}

std::optional<sample::Batch> BatchClient::try_take() {
  while (auto envelope = transport_.try_receive(Party::trainer)) {
    if (receive(*envelope)) break;
  }
  if (!plan_ || missing_ > 0) return {};
  return complete();
}

/// True if something is complete now: what comes after it is left for the next call.
bool BatchClient::receive(const Envelope& envelope) {
  try {
    dispatch(envelope);
  } catch (const base::MalformedBytes& error) {
    ++malformed_;
    base::log_error(std::string(name_of(envelope.kind)) + " of rank " +
                    std::to_string(envelope.peer.value()) + " dropped: " + error.what());
  }
  return (plan_ && missing_ == 0) || (errand_ && !asked_) ||
         (snapshot_step_ && snapshot_parts_.size() == buffers_.size());
}

void BatchClient::dispatch(const Envelope& envelope) {
  switch (envelope.kind) {
    case MessageKind::take_reply:
      return accept_plan(decode<TakeReply>(envelope.bytes).plan);
    case MessageKind::errand:
      return accept_errand(decode<ErrandOrder>(envelope.bytes));
    case MessageKind::snapshot:
      return accept_snapshot(envelope.peer, decode<Snapshot>(envelope.bytes));
    default:
      break;
  }
  auto reply = decode<FetchReply>(envelope.bytes);
  if (asked_ == reply.step && plan_) accept_samples(std::move(reply.samples));
}

void BatchClient::accept_errand(const ErrandOrder& order) {
  if (errand_ || plan_ || asked_ != order.step)
    throw base::MalformedBytes("an errand that answers no question");
  errand_ = order;
  if (order.form == ErrandForm::instead_of_batch) asked_.reset();
}

std::optional<ErrandOrder> BatchClient::take_errand() { return std::exchange(errand_, {}); }

void BatchClient::request_snapshot(std::int64_t step) {
  base::expects(seat_.trainer_rank == 0 && !snapshot_step_, "the first trainer asks, once");
  snapshot_step_ = step;
  snapshot_parts_.clear();
  send(transport_, head(), SnapshotRequest{step});
}

void BatchClient::accept_snapshot(WorldRank buffer, Snapshot snapshot) {
  const bool known = std::ranges::find(buffers_, buffer) != buffers_.end();
  if (!known || snapshot_step_ != snapshot.step || snapshot_parts_.contains(buffer))
    throw base::MalformedBytes("a snapshot that was not asked for");
  snapshot_parts_[buffer] = std::move(snapshot.bytes);
}

std::optional<std::vector<Bytes>> BatchClient::try_snapshot() {
  base::expects(snapshot_step_.has_value() && !plan_, "a snapshot was asked for, between batches");
  while (snapshot_parts_.size() < buffers_.size()) {
    const auto envelope = transport_.try_receive(Party::trainer);
    if (!envelope) return {};
    (void)receive(*envelope);
  }
  std::vector<Bytes> parts;
  for (const auto buffer : buffers_) parts.push_back(std::move(snapshot_parts_.at(buffer)));
  snapshot_step_.reset();
  snapshot_parts_.clear();
  return parts;
}

void BatchClient::accept_plan(sample::BatchPlan plan) {
  if (plan_ || asked_ != plan.step || seat_.dp_rank >= plan.dp_size())
    throw base::MalformedBytes("a batch that was not asked for");
  plan_ = std::move(plan);
  for (const auto index : indices_of_rank(*plan_, seat_.dp_rank))
    samples_[plan_->samples[static_cast<std::size_t>(index)].id] = std::nullopt;
  missing_ = static_cast<std::int64_t>(samples_.size());
  ask_owners();
}

void BatchClient::ask_owners() {
  std::map<int, FetchRequest> requests;
  for (const auto& summary : plan_->samples) {
    if (samples_.contains(summary.id))
      requests[summary.owner].samples.push_back({summary.group, summary.id});
  }
  for (auto& [owner, request] : requests) {
    request.step = plan_->step;
    send(transport_, WorldRank(owner), request);
  }
}

void BatchClient::accept_samples(std::vector<sample::Sample> samples) {
  for (auto& sample : samples) {
    const auto place = samples_.find(sample.id);
    if (place == samples_.end() || place->second)
      throw base::MalformedBytes("a sample that was not asked for");
    place->second = std::move(sample);
    --missing_;
  }
}

sample::Batch BatchClient::complete() {
  sample::Batch batch;
  batch.plan = std::move(*plan_);
  batch.dp_rank = seat_.dp_rank;
  for (auto& [id, sample] : samples_) batch.samples.push_back(std::move(*sample));
  send(transport_, head(), Fetched{batch.plan.step});
  plan_.reset();
  asked_.reset();
  samples_.clear();
  return batch;
}

void BatchClient::report_published(WeightVersion version) {
  if (seat_.trainer_rank == 0) send(transport_, head(), Published{version});
}

void BatchClient::report_step(std::int64_t step, const base::Scalars& metrics) {
  if (seat_.trainer_rank == 0) send(transport_, head(), StepReport{step, metrics});
}

void BatchClient::report_notice(const Notice& notice) {
  if (seat_.trainer_rank == 0) send(transport_, head(), notice);
}

void BatchClient::finish() {
  base::expects(!asked_, "no batch is asked for when the training ends");
  if (seat_.trainer_rank == 0) send(transport_, head(), Finish{});
  for (const auto buffer : buffers_) send(transport_, buffer, Goodbye{Party::trainer});
}

}  // namespace physarum::exchange
