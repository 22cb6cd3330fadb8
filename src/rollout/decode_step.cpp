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
    const auto rows = rows_.size();
    if (!group->prompt_is_read()) plan_prompt(*group);
    // Answers follow in the next step, or at once if there was nothing of the prompt to be read.
    if (!group->prompt_is_read() || rows_.size() > rows) continue;
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
    turns_.clear();
    for (std::int64_t i = 0; i < rows; ++i) {
      plan_turns(draws_[static_cast<std::size_t>(first + i)], logits + i * config_.vocab_size);
    }
    draw_together();
    for (const auto& turn : turns_) note(turn);
  }
}

void DecodeEngine::Impl::plan_turns(const Draw& draw, const float* logits) {
  if (draw.answer != nullptr) return turns_.push_back({draw.group, draw.answer, logits});
  for (auto& answer : draw.group->answers) {
    if (answer.wants_first_token()) turns_.push_back({draw.group, &answer, logits});
  }
}

/// A turn changes its own answer alone, so threads take them in any order; what belongs to the
/// engine is noted afterwards, in the order of the answers.
void DecodeEngine::Impl::draw_together() {
  const auto draw_some = [&](Sampler& sampler, base::IndexRange some) {
    for (auto i = some.first; i < some.first + some.count; ++i) {
      draw_next(sampler, turns_[static_cast<std::size_t>(i)]);
    }
  };
  auto& team = decoder_.team();
  const auto count = std::ssize(turns_);
  if (count <= 1) return draw_some(sampler_, {0, count});
  team.run([&](int part) {
    auto& sampler = part == 0 ? sampler_ : other_samplers_[static_cast<std::size_t>(part - 1)];
    draw_some(sampler, base::part_of(count, part, team.size()));
  });
}

void DecodeEngine::Impl::draw_next(Sampler& sampler, Turn& turn) const {
  auto& answer = *turn.answer;
  auto& result = answer.result;
  const auto& sampling = turn.group->request.sampling;
  const auto position = static_cast<std::uint32_t>(result.response.size());
  const auto drawn =
      sampler.draw(turn.logits, sampling,
                   stream_.uniform(static_cast<std::uint64_t>(result.id.value()), position),
                   shaping_of(*turn.group, answer));
  turn.failed = drawn.token < 0;
  if (turn.failed) return;
  if (answer.seen) answer.seen->push(drawn.token);
  result.response.push_back(drawn.token);
  result.log_probs.push_back(drawn.log_prob);
  if (sampling.records_nuclei()) {
    result.nuclei.push(drawn.nucleus);
    turn.nucleus_ids = std::ssize(drawn.nucleus);
    turn.narrowed = drawn.narrowed;
  }
  result.top_log_probs.push(drawn.top_ids, drawn.top_log_probs);
  if (result.versions.empty() || result.versions.back().version != version()) {
    result.versions.push_back({version(), 0});
  }
  ++result.versions.back().tokens;
}

void DecodeEngine::Impl::note(const Turn& turn) {
  auto& group = *turn.group;
  auto& answer = *turn.answer;
  if (turn.failed) return end(group, answer, Ending::failed);
  ++statistics_.generated_tokens;
  statistics_.nuclei += turn.nucleus_ids > 0 ? 1 : 0;
  statistics_.nucleus_ids += turn.nucleus_ids;
  statistics_.narrowed_nuclei += turn.narrowed ? 1 : 0;
  if (const auto ending = ending_of(group, answer)) end(group, answer, *ending);
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
