// Who may run, and what memory it holds.

#include <algorithm>

#include "physarum/base/contracts.hpp"

#include "decode_engine_impl.hpp"

namespace physarum::rollout {

std::int64_t DecodeEngine::Impl::own_blocks(const AnswerGroup& group, const Answer& answer) const {
  const auto positions = positions_needed(group.prompt_tokens(), answer.most_tokens);
  return blocks_for(std::max(positions, group.prompt_tokens())) - group.full_blocks();
}

bool DecodeEngine::Impl::admit(AnswerGroup& group, Answer& answer) {
  const auto prompt_blocks = group.started ? 0 : blocks_for(group.prompt_tokens());
  const auto own = own_blocks(group, answer);
  if (running_ >= limits_.sequences || prompt_blocks + own > pool_.unreserved()) return false;
  pool_.reserve(prompt_blocks + own);
  if (!group.started) {
    group.started = true;
    group.age.restart();
    group.reserved = prompt_blocks;
    group.blocks.reserve(static_cast<std::size_t>(prompt_blocks));
  }
  answer.reserved = own;
  answer.state = Answer::State::running;
  ++running_;
  return true;
}

/// Strictly in order: nobody overtakes, so nobody waits for ever.
void DecodeEngine::Impl::admit() {
  blocked_ = false;
  for (auto& group : groups_) {
    for (auto& answer : group->answers) {
      blocked_ = answer.state == Answer::State::waiting && !admit(*group, answer);
      if (blocked_) return;
    }
  }
}

void DecodeEngine::Impl::join(AnswerGroup& group, Answer& answer) {
  const auto full = static_cast<std::size_t>(group.full_blocks());
  if (answer.blocks.empty()) {
    answer.blocks.assign(group.blocks.begin(),
                         group.blocks.begin() + static_cast<std::ptrdiff_t>(full));
  }
  if (group.blocks.size() > full) {
    if (answer.blocks.size() == full) answer.blocks.push_back(pool_.take());
    std::copy_n(group.blocks[full], pool_.block_floats(), answer.blocks[full]);
  }
  answer.cached = group.prompt_tokens();
  answer.joined = true;
}

void DecodeEngine::Impl::leave(AnswerGroup& group, Answer& answer) {
  const auto full = static_cast<std::size_t>(group.full_blocks());
  for (std::size_t i = full; i < answer.blocks.size(); ++i) pool_.give_back(answer.blocks[i]);
  answer.blocks.clear();
  pool_.release(answer.reserved);
  if (answer.state == Answer::State::running) --running_;
  answer.reserved = 0;
}

void DecodeEngine::Impl::drop_blocks(AnswerGroup& group) {
  for (float* block : group.blocks) pool_.give_back(block);
  group.blocks.clear();
  pool_.release(group.reserved);
  group.reserved = 0;
}

void DecodeEngine::Impl::retract() {
  for (auto& group : groups_) {
    group->cached = 0;
    for (auto& answer : group->answers) answer.joined = false;
  }
}

void DecodeEngine::Impl::retract_unread() {
  for (auto& group : groups_) {
    if (!group->prompt_is_read()) group->cached = 0;
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

void DecodeEngine::Impl::remove_ended_groups() {
  std::erase_if(groups_, [this](const std::unique_ptr<AnswerGroup>& group) {
    if (group->unfinished > 0) return false;
    drop_blocks(*group);
    return true;
  });
}

void DecodeEngine::Impl::clear() {
  for (auto& group : groups_) {
    for (auto& answer : group->answers) leave(*group, answer);
    drop_blocks(*group);
  }
  groups_.clear();
  ended_.clear();
  unfinished_ = 0;
}

}  // namespace physarum::rollout
