#include "buffer/token_engine.hpp"

#include <algorithm>
#include <utility>

namespace physarum::buffer::testing {

namespace st = sample::testing;

base::TokenId Script::token(base::SampleId id, std::int64_t position) {
  return static_cast<base::TokenId>(
      st::draw(11, id.value(), static_cast<std::uint32_t>(position), 0, 999));
}

float Script::log_prob(base::SampleId id, std::int64_t position) {
  return -0.01F *
         static_cast<float>(st::draw(12, id.value(), static_cast<std::uint32_t>(position), 1, 900));
}

void TokenEngine::turn() {
  if (finished()) return;
  std::int64_t held = 0;
  for (const auto& work : working_) held += work.lease.n_samples;
  client.poll(std::max<std::int64_t>(0, room_ - held), version_);
  if (client.finished()) return;
  receive();
  version_ = client.newest_version();
  if (makes_tokens) make_tokens();
}

std::int64_t TokenEngine::running() const {
  std::int64_t count = 0;
  for (const auto& work : working_) {
    count += std::ranges::count(work.group.samples, sample::SampleStatus::aborted,
                                &sample::Sample::status);
  }
  return count;
}

void TokenEngine::receive() {
  for (auto& lease : client.take_leases()) begin(std::move(lease));
  for (const auto& recall : client.take_recalls()) stop(recall);
}

void TokenEngine::begin(sample::Lease lease) {
  leases.push_back(lease);
  sample::SampleGroup group{lease.group, lease.prompt.id, lease.purpose, lease.id, lease.begun};
  for (std::int64_t i = std::ssize(group.samples); i < lease.n_samples; ++i) {
    sample::Sample sample;
    sample.id = base::SampleId(lease.first_sample.value() + i);
    sample.group = lease.group;
    sample.prompt = lease.prompt.id;
    sample.index_in_group = i;
    sample.prompt_tokens = 2;
    sample.tokens = {7, 8};
    sample.status = sample::SampleStatus::aborted;
    group.samples.push_back(std::move(sample));
  }
  read_tokens += group.samples.front().prompt_tokens;
  for (auto& sample : group.samples) {
    if (sample.status == sample::SampleStatus::aborted)
      read_tokens += keeps_keys ? sample.response_tokens() % 16 : sample.response_tokens();
    sample.lease = lease.id;
    sample.lease_history = lease.history;
    sample.lease_history.push_back(lease.id);
  }
  working_.push_back({std::move(lease), std::move(group)});
}

void TokenEngine::stop(const exchange::Recall& recall) {
  const auto work =
      std::ranges::find_if(working_, [&](const Work& one) { return one.lease.id == recall.lease; });
  if (work == working_.end()) return;
  if (recall.form == exchange::RecallForm::drop) {
    ++drops;
  } else if (!before_hand_back || before_hand_back(work->group)) {
    client.hand_back(work->group);
    returned.push_back(std::move(work->group));
  }
  working_.erase(work);
}

void TokenEngine::make_tokens() {
  std::erase_if(working_, [&](Work& work) {
    if (version_ < work.lease.version) return false;
    bool complete = true;
    for (auto& sample : work.group.samples) {
      if (sample.status == sample::SampleStatus::aborted) add_token(sample);
      complete = complete && sample.status != sample::SampleStatus::aborted;
    }
    if (complete) client.hand_in(work.group);
    return complete;
  });
}

void TokenEngine::add_token(sample::Sample& sample) {
  const auto position = sample.response_tokens();
  sample.tokens.push_back(Script::token(sample.id, position));
  sample.log_probs.push_back(Script::log_prob(sample.id, position));
  sample.mask.push_back(1);
  if (sample.versions.empty() || sample.versions.back().version != version_)
    sample.versions.push_back({version_, 0});
  ++sample.versions.back().tokens;
  ++made_tokens;
  if (position + 1 < script_.length(sample.id)) return;
  sample.status = sample::SampleStatus::completed;
  sample.reward = script_.reward(sample.id);
}

}  // namespace physarum::buffer::testing
