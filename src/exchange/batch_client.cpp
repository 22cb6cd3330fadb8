#include "physarum/exchange/batch_client.hpp"

#include <string>
#include <utility>

#include "physarum/base/contracts.hpp"
#include "physarum/base/logging.hpp"

#include "physarum/parallel/wait.hpp"

#include "physarum/exchange/messages.hpp"

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

/// True if a batch may be complete now: what comes after it is left for the next call.
bool BatchClient::receive(const Envelope& envelope) {
  try {
    if (envelope.kind == MessageKind::take_reply) {
      accept_plan(decode<TakeReply>(envelope.bytes).plan);
    } else {
      auto reply = decode<FetchReply>(envelope.bytes);
      if (asked_ == reply.step && plan_) accept_samples(std::move(reply.samples));
    }
  } catch (const base::MalformedBytes& error) {
    ++malformed_;
    base::log_error(std::string(name_of(envelope.kind)) + " of rank " +
                    std::to_string(envelope.peer.value()) + " dropped: " + error.what());
  }
  return plan_ && missing_ == 0;
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

sample::Batch BatchClient::take(std::int64_t step, const base::Deadline& deadline) {
  const parallel::Phase phase("take batch");
  request(step);
  std::optional<sample::Batch> batch;
  const bool came = parallel::wait_until(
      [&] {
        batch = try_take();
        return batch.has_value();
      },
      deadline);
  if (!came) {
    parallel::throw_deadline("trainer rank " + std::to_string(seat_.trainer_rank),
                             "the batch of step " + std::to_string(step), deadline);
  }
  return std::move(*batch);
}

void BatchClient::report_published(WeightVersion version) {
  if (seat_.trainer_rank == 0) send(transport_, head(), Published{version});
}

void BatchClient::report_step(std::int64_t step, const base::Scalars& metrics) {
  if (seat_.trainer_rank == 0) send(transport_, head(), StepReport{step, metrics});
}

void BatchClient::finish() {
  base::expects(!asked_, "no batch is asked for when the training ends");
  if (seat_.trainer_rank == 0) send(transport_, head(), Finish{});
  for (const auto buffer : buffers_) send(transport_, buffer, Goodbye{Party::trainer});
}

}  // namespace physarum::exchange
