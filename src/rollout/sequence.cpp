#include "sequence.hpp"

#include <algorithm>

#include "physarum/model/decode_kernels.hpp"

namespace physarum::rollout {

bool all_below(std::span<const base::TokenId> tokens, std::int64_t vocab_size) {
  return std::ranges::all_of(tokens, [=](base::TokenId id) { return id >= 0 && id < vocab_size; });
}

std::int64_t positions_needed(std::int64_t prompt_tokens, std::int64_t most_tokens) {
  return prompt_tokens + most_tokens - 1;
}

std::int64_t blocks_for(std::int64_t positions) {
  return (positions + model::cache_block_tokens - 1) / model::cache_block_tokens;
}

bool AnswerGroup::wants_first_token() const {
  return std::ranges::any_of(answers, &Answer::wants_first_token);
}

std::int64_t AnswerGroup::full_blocks() const {
  return prompt_tokens() / model::cache_block_tokens;
}

base::TokenId AnswerGroup::token(const Answer& answer, std::int64_t position) const {
  const auto prompt = prompt_tokens();
  return position < prompt ? request.prompt[static_cast<std::size_t>(position)]
                           : answer.result.response[static_cast<std::size_t>(position - prompt)];
}

std::array<base::TokenId, model::cache_block_tokens> AnswerGroup::block_tokens(
    const Answer& answer, std::size_t index) const {
  std::array<base::TokenId, model::cache_block_tokens> tokens{};
  auto position = static_cast<std::int64_t>(index) * model::cache_block_tokens;
  for (auto& one : tokens) one = token(answer, position++);
  return tokens;
}

namespace {
std::optional<SeenTokens> seen_at_first(const GenerateRequest& request) {
  if (!has_penalties(request.sampling)) return std::nullopt;
  // Presence and frequency are those in the answer.
  const bool prompt_counts = request.sampling.repetition_penalty != 1;
  return SeenTokens(prompt_counts ? std::span<const base::TokenId>(request.prompt)
                                  : std::span<const base::TokenId>());
}

/// The tokens that an answer has are read like those of a sequence that gave its memory away.
void resume(Answer& answer, Generated begun) {
  answer.earlier_s = begun.seconds;
  answer.result.response = std::move(begun.response);
  answer.result.log_probs = std::move(begun.log_probs);
  answer.result.nuclei = std::move(begun.nuclei);
  answer.result.top_log_probs = std::move(begun.top_log_probs);
  answer.result.versions = std::move(begun.versions);
  if (!answer.seen) return;
  for (const auto token : answer.result.response) answer.seen->push(token);
}
}  // namespace

std::unique_ptr<AnswerGroup> make_group(GenerateRequest request, std::int64_t most_tokens) {
  auto group = std::make_unique<AnswerGroup>();
  group->request = std::move(request);
  group->unfinished = group->request.n_samples;
  group->answers.resize(static_cast<std::size_t>(group->unfinished));
  const auto blocks = blocks_for(positions_needed(group->prompt_tokens(), most_tokens));
  const auto seen = seen_at_first(group->request);
  const auto& stop_strings = group->request.sampling.stop_strings;
  if (!stop_strings.empty()) group->stops.emplace(stop_strings);
  for (std::size_t i = 0; i < group->answers.size(); ++i) {
    auto& answer = group->answers[i];
    answer.result.id =
        base::SampleId(group->request.first_sample.value() + static_cast<std::int64_t>(i));
    answer.most_tokens = most_tokens;
    answer.seen = seen;
    if (group->stops) answer.stop_progress = group->stops->start();
    if (!group->request.begun.empty()) resume(answer, std::move(group->request.begun[i]));
    answer.result.response.reserve(static_cast<std::size_t>(most_tokens));
    answer.result.log_probs.reserve(static_cast<std::size_t>(most_tokens));
    answer.blocks.reserve(static_cast<std::size_t>(blocks));
  }
  group->request.begun = {};
  return group;
}

}  // namespace physarum::rollout
