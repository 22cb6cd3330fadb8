// Who may run, and what memory it holds.

#include <algorithm>
#include <iterator>

#include "physarum/base/contracts.hpp"

#include "decode_engine_impl.hpp"

namespace physarum::rollout {

/// Blocks behind the prompt's full ones that an answer needs for its tokens and the next one.
std::int64_t DecodeEngine::Impl::own_blocks(const AnswerGroup& group, const Answer& answer) const {
  const auto drawn = static_cast<std::int64_t>(answer.result.response.size());
  return blocks_for(group.prompt_tokens() + std::max<std::int64_t>(drawn, 1)) - group.full_blocks();
}

bool DecodeEngine::Impl::admit(AnswerGroup& group, Answer& answer) {
  const auto prompt_blocks = group.started ? 0 : blocks_for(group.prompt_tokens());
  const auto own = own_blocks(group, answer);
  // Those who run grow by a block in 16 steps: without some room somebody would have to stop soon.
  const auto growth = (running_ + 1) / 2;
  if (running_ >= limits_.sequences) return false;
  if (prompt_blocks + own + growth > pool_.unreserved()) return false;
  pool_.reserve(prompt_blocks + own);
  if (!group.started) {
    group.started = true;
    if (!group.ever_started) group.age.restart();
    group.ever_started = true;
    group.version = version_of_beginning(group);
    group.reserved = prompt_blocks;
    group.blocks.reserve(static_cast<std::size_t>(prompt_blocks));
  }
  answer.reserved = own;
  answer.state = Answer::State::running;
  ++running_;
  statistics_.most_running = std::max(statistics_.most_running, running_);
  return true;
}

/// Strictly in order: nobody overtakes, so nobody waits for ever.
void DecodeEngine::Impl::admit() {
  blocked_ = false;
  for (auto& group : groups_) {
    for (auto& answer : group->answers) {
      if (answer.state != Answer::State::waiting) continue;
      bool admitted = admit(*group, answer);
      // Nobody runs: what later groups still hold is in the way of the first.
      while (!admitted && running_ == 0 && take_back_from_youngest(group.get(), nullptr)) {
        admitted = admit(*group, answer);
      }
      blocked_ = !admitted;
      if (blocked_) return;
    }
  }
}

/// Before an answer reads its tokens. If there is no room, the youngest gives way, and it is this
/// one if it is the youngest itself (false). Those who have rows in this step are older.
bool DecodeEngine::Impl::make_room(AnswerGroup& group, Answer& answer) {
  const auto more = own_blocks(group, answer) - answer.reserved - std::ssize(answer.held);
  if (more <= 0) return true;
  while (pool_.unreserved() < more) {
    if (take_back_from_youngest(&group, &answer)) continue;
    preempt(group, answer);
    return false;
  }
  pool_.reserve(more);
  answer.reserved += more;
  return true;
}

/// Whoever came last, but after `group` and, in it, after `answer`, gives back its blocks.
bool DecodeEngine::Impl::take_back_from_youngest(const AnswerGroup* group, const Answer* answer) {
  for (auto young = groups_.rbegin(); young != groups_.rend(); ++young) {
    auto& other = **young;
    const auto running =
        std::find_if(other.answers.rbegin(), other.answers.rend(),
                     [](const Answer& one) { return one.state == Answer::State::running; });
    const bool nobody_runs = running == other.answers.rend();
    if (&other == group && (nobody_runs || &*running == answer)) return false;
    if (!nobody_runs) {
      preempt(other, *running);
      return true;
    }
    if (other.started) {
      stop(other);
      return true;
    }
  }
  return false;
}

/// Its tokens stay; keys and values are computed again when there is room.
void DecodeEngine::Impl::preempt(AnswerGroup& group, Answer& answer) {
  send_back(group, answer);
  ++statistics_.preemptions;
  const bool somebody_runs = std::ranges::any_of(
      group.answers, [](const Answer& one) { return one.state == Answer::State::running; });
  if (!somebody_runs) stop(group);
}

void DecodeEngine::Impl::send_back(AnswerGroup& group, Answer& answer) {
  leave(group, answer);
  answer.state = Answer::State::waiting;
  answer.joined = false;
  answer.cached = 0;
}

void DecodeEngine::Impl::stop(AnswerGroup& group) {
  drop_blocks(group);
  group.started = false;
  group.cached = 0;
}

void DecodeEngine::Impl::join(AnswerGroup& group, Answer& answer) {
  const auto full = static_cast<std::size_t>(group.full_blocks());
  answer.blocks.assign(group.blocks.begin(),
                       group.blocks.begin() + static_cast<std::ptrdiff_t>(full));
  answer.cached = group.prompt_tokens();
  answer.joined = true;
  find_answer(group, answer);
  // Only where what follows the full blocks was not found.
  if (answer.held.empty() && group.blocks.size() > full) {
    answer.blocks.push_back(prefixes_.take());
    std::copy_n(group.blocks[full], pool_.block_floats(), answer.blocks[full]);
  }
}

void DecodeEngine::Impl::leave(AnswerGroup& group, Answer& answer) {
  show_answer(group, answer);
  const auto first_own = static_cast<std::size_t>(group.full_blocks()) + answer.held.size();
  for (std::size_t i = first_own; i < answer.blocks.size(); ++i) pool_.give_back(answer.blocks[i]);
  answer.blocks.clear();
  release_held(answer.held);
  pool_.release(answer.reserved);
  if (answer.state == Answer::State::running) --running_;
  answer.reserved = 0;
}

void DecodeEngine::Impl::drop_blocks(AnswerGroup& group) {
  for (std::size_t i = group.held.size(); i < group.blocks.size(); ++i)
    pool_.give_back(group.blocks[i]);
  group.blocks.clear();
  release_held(group.held);
  pool_.release(group.reserved);
  group.reserved = 0;
}

/// Everything is read again, so nothing that was read is found any more, and everybody lines up
/// again: then those with the same beginnings share them again.
void DecodeEngine::Impl::retract() {
  for (auto& group : groups_) {
    for (auto& answer : group->answers)
      if (answer.state == Answer::State::running) send_back(*group, answer);
    stop(*group);
  }
  prefixes_.forget();
}

/// Who has read the prompt goes on with the keys and values of the old weights, which are known by
/// their version; the others begin again.
void DecodeEngine::Impl::keep_in_place() {
  for (auto& group : groups_) {
    const bool keeps = group->prompt_is_read();
    for (auto& answer : group->answers) {
      if (!keeps && answer.state == Answer::State::running) send_back(*group, answer);
    }
    if (!keeps) stop(*group);
  }
}

void DecodeEngine::Impl::abort_running() {
  for (auto& group : groups_) {
    for (auto& answer : group->answers) {
      const bool has_tokens = !answer.result.response.empty();
      if (answer.state != Answer::State::ended && has_tokens) end(*group, answer, Ending::aborted);
    }
  }
  remove_ended_groups();
  retract();
}

std::vector<Generated> DecodeEngine::Impl::give_up(base::SampleId first, std::int64_t n_samples) {
  const auto is_meant = [&](base::SampleId id) {
    return id >= first && id.value() - first.value() < n_samples;
  };
  for (auto& group : groups_) {
    for (auto& answer : group->answers) {
      const bool ended = answer.state == Answer::State::ended;
      if (!ended && is_meant(answer.result.id)) end(*group, answer, Ending::aborted);
    }
  }
  remove_ended_groups();
  // Nobody waits for room any more, and no step may come that finds it out.
  if (groups_.empty()) blocked_ = false;
  // What new weights have aborted waits here for the next step.
  const auto others = std::partition(ended_.begin(), ended_.end(),
                                     [&](const Generated& one) { return is_meant(one.id); });
  std::vector<Generated> given_up(std::make_move_iterator(ended_.begin()),
                                  std::make_move_iterator(others));
  ended_.erase(ended_.begin(), others);
  return given_up;
}

void DecodeEngine::Impl::remove_ended_groups() {
  std::erase_if(groups_, [this](const std::unique_ptr<AnswerGroup>& group) {
    if (group->unfinished > 0) return false;
    drop_blocks(*group);
    return true;
  });
}

void DecodeEngine::Impl::clear() {
  for (auto& group : groups_) {
    // Who has ended has left already, and its tokens have been handed out.
    for (auto& answer : group->answers)
      if (answer.state != Answer::State::ended) leave(*group, answer);
    drop_blocks(*group);
  }
  groups_.clear();
  ended_.clear();
  unfinished_ = 0;
}

}  // namespace physarum::rollout
