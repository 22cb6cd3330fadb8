// One step: rows of prompts and of answers, one forward pass, one token for every answer that is
// up to date.

#include <algorithm>

#include "physarum/base/contracts.hpp"

#include "decode_engine_impl.hpp"

namespace physarum::rollout {

std::vector<Generated> DecodeEngine::Impl::step() {
  base::expects(version().valid(), "the engine has no weights yet");
  const base::Stopwatch watch;
  admit();
  plan_rows();
  if (!rows_.empty()) {
    decoder_.forward(weights_, rows_, wanted_);
    draw_tokens();
  }
  remove_ended_groups();
  ++statistics_.steps;
  statistics_.busy_s += watch.seconds();
  return std::move(ended_);
}

void DecodeEngine::Impl::plan_rows() {
  rows_.clear();
  wanted_.clear();
  draws_.clear();
  prefill_left_ = limits_.prefill_tokens;
  for (auto& group : groups_) {
    if (!group->started) continue;
    share_prompt(*group);
    if (!group->prompt_is_read()) {
      plan_prompt(*group);
      continue;
    }
    for (auto& answer : group->answers) {
      if (answer.state == Answer::State::running) plan_answer(*group, answer);
    }
  }
}

std::int64_t DecodeEngine::Impl::prefill_budget(std::int64_t wanted) {
  const auto granted = std::min(wanted, prefill_left_);
  prefill_left_ -= granted;
  statistics_.prompt_tokens += granted;
  return granted;
}

void DecodeEngine::Impl::plan_prompt(AnswerGroup& group) {
  find_prompt(group);
  const auto count = prefill_budget(group.prompt_tokens() - group.cached);
  add_rows(group, group.answers.front(), group.blocks, group.cached, count);
  group.cached += count;
  show_prompt(group);
  if (!group.prompt_is_read() || !group.wants_first_token()) return;
  wanted_.push_back(static_cast<std::int64_t>(rows_.size()) - 1);
  draws_.push_back({&group, nullptr});
}

void DecodeEngine::Impl::plan_answer(AnswerGroup& group, Answer& answer) {
  if (!make_room(group, answer)) return;
  if (!answer.joined) join(group, answer);
  const auto behind = group.tokens(answer) - answer.cached;
  // One token behind is the normal case; more are there after weights have changed.
  const auto count = behind == 1 ? 1 : prefill_budget(behind);
  add_rows(group, answer, answer.blocks, answer.cached, count);
  answer.cached += count;
  if (count < behind) return;
  wanted_.push_back(static_cast<std::int64_t>(rows_.size()) - 1);
  draws_.push_back({&group, &answer});
}

void DecodeEngine::Impl::add_rows(AnswerGroup& group, const Answer& answer,
                                  std::vector<float*>& blocks, std::int64_t first,
                                  std::int64_t count) {
  while (static_cast<std::int64_t>(blocks.size()) < blocks_for(first + count)) {
    blocks.push_back(prefixes_.take());
  }
  for (std::int64_t position = first; position < first + count; ++position) {
    rows_.push_back({group.token(answer, position), position, blocks.data()});
  }
}

void DecodeEngine::Impl::draw_tokens() {
  const auto count = static_cast<std::int64_t>(wanted_.size());
  for (std::int64_t first = 0; first < count; first += logit_rows) {
    const auto rows = std::min(logit_rows, count - first);
    const float* logits = decoder_.logits(weights_, first, rows);
    for (std::int64_t i = 0; i < rows; ++i) {
      draw(draws_[static_cast<std::size_t>(first + i)], logits + i * config_.vocab_size);
    }
  }
}

void DecodeEngine::Impl::draw(const Draw& draw, const float* logits) {
  if (draw.answer != nullptr) return draw_next(*draw.group, *draw.answer, logits);
  for (auto& answer : draw.group->answers) {
    if (answer.wants_first_token()) draw_next(*draw.group, answer, logits);
  }
}

void DecodeEngine::Impl::draw_next(AnswerGroup& group, Answer& answer, const float* logits) {
  auto& result = answer.result;
  const auto& sampling = group.request.sampling;
  const auto position = static_cast<std::uint32_t>(result.response.size());
  const auto drawn = sampler_.draw(
      logits, sampling, stream_.uniform(static_cast<std::uint64_t>(result.id.value()), position),
      shaping_of(group, answer));
  if (drawn.token < 0) return end(group, answer, Ending::failed);
  if (answer.seen) answer.seen->push(drawn.token);
  result.response.push_back(drawn.token);
  result.log_probs.push_back(drawn.log_prob);
  if (sampling.records_nuclei()) record_nucleus(drawn, result);
  result.top_log_probs.push(drawn.top_ids, drawn.top_log_probs);
  if (result.versions.empty() || result.versions.back().version != version()) {
    result.versions.push_back({version(), 0});
  }
  ++result.versions.back().tokens;
  ++statistics_.generated_tokens;
  if (const auto ending = ending_of(group, answer)) end(group, answer, *ending);
}

void DecodeEngine::Impl::record_nucleus(const DrawnToken& drawn, Generated& result) {
  result.nuclei.push(drawn.nucleus);
  statistics_.nuclei += drawn.nucleus.empty() ? 0 : 1;
  statistics_.nucleus_ids += std::ssize(drawn.nucleus);
  statistics_.narrowed_nuclei += drawn.narrowed ? 1 : 0;
}

/// Whether the last token is the last.
std::optional<Ending> DecodeEngine::Impl::ending_of(const AnswerGroup& group,
                                                    Answer& answer) const {
  const auto& response = answer.result.response;
  const auto& stops = group.request.sampling.stop_token_ids;
  if (std::find(stops.begin(), stops.end(), response.back()) != stops.end()) return Ending::stopped;
  if (completes_stop_string(group, answer)) return Ending::matched;
  if (std::ssize(response) == answer.most_tokens) return Ending::truncated;
  return std::nullopt;
}

/// The text is that of Tokenizer::decode(): special tokens have none.
bool DecodeEngine::Impl::completes_stop_string(const AnswerGroup& group, Answer& answer) const {
  const auto& response = answer.result.response;
  if (!group.stops || tokenizer_->is_special(response.back())) return false;
  const bool found =
      group.stops->advance(tokenizer_->token_bytes(response.back()), answer.stop_progress);
  return found && std::ssize(response) >= group.request.sampling.min_response_tokens;
}

Shaping DecodeEngine::Impl::shaping_of(const AnswerGroup& group, const Answer& answer) {
  const auto& sampling = group.request.sampling;
  const bool too_short = std::ssize(answer.result.response) < sampling.min_response_tokens;
  Shaping shaping;
  if (too_short) shaping.forbidden = sampling.stop_token_ids;
  if (answer.seen) shaping.seen = &*answer.seen;
  return shaping;
}

void DecodeEngine::Impl::end(AnswerGroup& group, Answer& answer, Ending ending) {
  leave(group, answer);
  answer.state = Answer::State::ended;
  answer.result.ending = ending;
  answer.result.seconds = answer.earlier_s + (group.ever_started ? group.age.seconds() : 0);
  ended_.push_back(std::move(answer.result));
  --group.unfinished;
  --unfinished_;
}

}  // namespace physarum::rollout
