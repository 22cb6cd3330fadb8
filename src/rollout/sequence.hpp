#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "physarum/base/deadline.hpp"

#include "physarum/rollout/decode_engine.hpp"

#include "prefix_cache.hpp"
#include "seen_tokens.hpp"
#include "stop_strings.hpp"

namespace physarum::rollout {

/// One answer on its way.
struct Answer {
  enum class State {
    waiting,  ///< for room; it may have tokens already
    running,
    ended,
  };
  Generated result;
  State state = State::waiting;
  std::int64_t most_tokens = 0;  ///< of the response
  double earlier_s = 0;          ///< in other engines, or in this one before it was given up
  /// Blocks of the prompt that are full belong to the prompt; the others are this answer's own.
  std::vector<float*> blocks;
  /// Of its own blocks, the first ones, which it holds in the prefix cache.
  std::vector<PrefixBlock*> held;
  std::int64_t reserved = 0;       ///< own blocks that are not held
  std::int64_t cached = 0;         ///< positions whose keys and values are valid
  bool joined = false;             ///< has the prompt's keys and values
  std::optional<SeenTokens> seen;  ///< with penalties
  StopStrings::Progress stop_progress;

  [[nodiscard]] bool wants_first_token() const {
    return state != State::ended && result.response.empty();
  }
};

/// A request: a prompt and its answers.
struct AnswerGroup {
  GenerateRequest request;
  std::optional<StopStrings> stops;  ///< if there are any
  std::vector<Answer> answers;
  bool started = false;  ///< has room for the prompt and at least one answer
  bool ever_started = false;
  base::Stopwatch age;  ///< since then
  std::vector<float*> blocks;
  std::vector<PrefixBlock*> held;  ///< the first of the blocks
  base::WeightVersion version;     ///< once started: by which its blocks are known
  std::int64_t reserved = 0;       ///< blocks that are not held
  std::int64_t cached = 0;
  std::int64_t unfinished = 0;

  [[nodiscard]] std::int64_t prompt_tokens() const {
    return static_cast<std::int64_t>(request.prompt.size());
  }
  [[nodiscard]] bool prompt_is_read() const { return cached == prompt_tokens(); }
  /// Some answer does: it comes from the logits of the prompt's last token.
  [[nodiscard]] bool wants_first_token() const;
  /// Blocks that hold prompt tokens only.
  [[nodiscard]] std::int64_t full_blocks() const;
  [[nodiscard]] base::TokenId token(const Answer& answer, std::int64_t position) const;
  /// Those of block `index` of the sequence.
  [[nodiscard]] std::array<base::TokenId, model::cache_block_tokens> block_tokens(
      const Answer& answer, std::size_t index) const;
  /// Tokens of prompt and response.
  [[nodiscard]] std::int64_t tokens(const Answer& answer) const {
    return prompt_tokens() + static_cast<std::int64_t>(answer.result.response.size());
  }
};

/// Rows of the embedding and places of the logits are reached by token id.
[[nodiscard]] bool all_below(std::span<const base::TokenId> tokens, std::int64_t vocab_size);

/// Most positions that can come to be cached: all but the last token, which is never read.
[[nodiscard]] std::int64_t positions_needed(std::int64_t prompt_tokens, std::int64_t most_tokens);
[[nodiscard]] std::int64_t blocks_for(std::int64_t positions);

/// A new group whose answers have all memory that they will need for tokens.
[[nodiscard]] std::unique_ptr<AnswerGroup> make_group(GenerateRequest request,
                                                      std::int64_t most_tokens);

}  // namespace physarum::rollout
