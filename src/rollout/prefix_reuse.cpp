// What sequences share with those before them and beside them. A step's rows are planned sequence
// by sequence, and each layer stores the keys and values of all of them before any is looked at: so
// blocks can be found as soon as their rows are planned, by sequences that come later in the same
// step.

#include <cstddef>
#include <utility>

#include "decode_engine_impl.hpp"

namespace physarum::rollout {

namespace {

constexpr auto block_tokens = model::cache_block_tokens;

PrefixBlock* last_of(const std::vector<PrefixBlock*>& held) {
  return held.empty() ? nullptr : held.back();
}

/// Behind the full blocks of the prompt.
PrefixCache::Place behind_prompt(const AnswerGroup& group) {
  return {last_of(group.held), group.version};
}

/// Tokens up to the end of block `index`.
std::int64_t end_of(std::size_t index) {
  return (static_cast<std::int64_t>(index) + 1) * block_tokens;
}

}  // namespace

/// Tokens of an answer and its prompt whose blocks are here, if its beginning was read by a
/// version.
std::int64_t DecodeEngine::Impl::known_tokens(const AnswerGroup& group, const Answer& answer,
                                              base::WeightVersion version) const {
  PrefixCache::Place place{nullptr, version};
  std::size_t blocks = 0;
  while (end_of(blocks) < group.tokens(answer)) {
    place.before = prefixes_.find(place, group.block_tokens(answer, blocks));
    if (place.before == nullptr) break;
    ++blocks;
  }
  return static_cast<std::int64_t>(blocks) * block_tokens;
}

/// By which weights the beginning of its sequences is, or will be, read. Where weights change
/// `in_place`, answers that were begun under older ones go on with the keys and values that are
/// still here; after other changes none are. The version of which most is here: others may have
/// begun with the same tokens under each.
base::WeightVersion DecodeEngine::Impl::version_of_beginning(const AnswerGroup& group) const {
  auto best = version();
  std::int64_t most = 0;
  for (const auto& answer : group.answers) {
    const auto& runs = answer.result.versions;
    for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
      const auto known = known_tokens(group, answer, run->version);
      if (known <= most) continue;
      most = known;
      best = run->version;
    }
  }
  return best;
}

/// Takes over the blocks that begin where the prompt has been read to. If an answer has no token
/// yet, one stays to be read: the first one comes from its logits.
void DecodeEngine::Impl::find_prompt(AnswerGroup& group) {
  const auto end = group.prompt_tokens() - (group.wants_first_token() ? 1 : 0);
  while (shares_prefixes() && group.cached == std::ssize(group.held) * block_tokens &&
         end_of(group.held.size()) <= end) {
    auto* block = prefixes_.find(behind_prompt(group),
                                 group.block_tokens(group.answers.front(), group.held.size()));
    if (block == nullptr) return;
    hold_for(group, *block);
    group.blocks.push_back(block->at);
    group.cached += block_tokens;
    statistics_.reused_tokens += block_tokens;
  }
}

void DecodeEngine::Impl::hold_for(AnswerGroup& group, PrefixBlock& block) {
  pool_.release(1);
  --group.reserved;
  prefixes_.hold(block);
  group.held.push_back(&block);
}

/// Full blocks of the prompt are there for others, up to one that somebody else was first to read.
void DecodeEngine::Impl::show_prompt(AnswerGroup& group) {
  while (shares_prefixes() && end_of(group.held.size()) <= group.cached) {
    const auto index = group.held.size();
    auto* block =
        prefixes_.add(behind_prompt(group), group.block_tokens(group.answers.front(), index),
                      group.blocks[index]);
    if (block == nullptr) return;
    --group.reserved;
    group.held.push_back(block);
  }
}

/// The step is over in which this one and somebody else read the same: it takes over the other's
/// blocks, so that what follows can be found behind them. No answer has joined yet, and no row of
/// the next step is planned.
void DecodeEngine::Impl::share_prompt(AnswerGroup& group) {
  for (show_prompt(group); shares_prefixes() && end_of(group.held.size()) <= group.cached;
       show_prompt(group)) {
    const auto index = group.held.size();
    auto* block =
        prefixes_.find(behind_prompt(group), group.block_tokens(group.answers.front(), index));
    pool_.give_back(std::exchange(group.blocks[index], block->at));
    hold_for(group, *block);
  }
}

/// An answer that joins its prompt with tokens of its own, because it had to wait or was resumed.
void DecodeEngine::Impl::find_answer(AnswerGroup& group, Answer& answer) {
  const auto full = group.held.size();
  auto place = behind_prompt(group);
  while (shares_prefixes() && end_of(full + answer.held.size()) < group.tokens(answer)) {
    auto* block = prefixes_.find(place, group.block_tokens(answer, full + answer.held.size()));
    if (block == nullptr) break;
    pool_.release(1);
    --answer.reserved;
    prefixes_.hold(*block);
    answer.held.push_back(block);
    answer.blocks.push_back(block->at);
    answer.cached = end_of(full + answer.held.size() - 1);
    place.before = block;
  }
  statistics_.reused_tokens += answer.cached - group.prompt_tokens();
}

/// An answer gives back its blocks; the full ones can still be found. Of two answers with the same
/// tokens the first one's stay.
void DecodeEngine::Impl::show_answer(AnswerGroup& group, Answer& answer) {
  if (!answer.joined || !shares_prefixes()) return;
  const auto full = group.held.size();
  auto place = behind_prompt(group);
  if (!answer.held.empty()) place.before = answer.held.back();
  while (end_of(full + answer.held.size()) <= answer.cached) {
    const auto index = full + answer.held.size();
    auto* block = prefixes_.add(place, group.block_tokens(answer, index), answer.blocks[index]);
    if (block == nullptr) return;
    --answer.reserved;
    answer.held.push_back(block);
    place.before = block;
  }
}

void DecodeEngine::Impl::release_held(std::vector<PrefixBlock*>& held) {
  for (auto block = held.rbegin(); block != held.rend(); ++block) prefixes_.release(**block);
  held.clear();
}

}  // namespace physarum::rollout
