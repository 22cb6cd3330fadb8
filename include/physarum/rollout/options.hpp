#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "physarum/base/options.hpp"

#include "physarum/sample/sampling_options.hpp"

#include "physarum/model/config.hpp"

namespace physarum::rollout {

/// What becomes of running sequences when an engine takes new weights.
enum class PauseGenerationMode {
  abort,     ///< they start again from their prompts
  retract,   ///< they keep their tokens; keys and values are computed again by the new weights
  in_place,  ///< they keep tokens, keys and values
};

/// Keys and values of one engine, if nothing is said.
inline constexpr std::int64_t default_kv_cache_bytes = std::int64_t{1} << 30;

/// What a rank has, from which a share goes to its engine.
struct EngineMemory {
  std::int64_t usable_bytes = 0;  ///< what this rank may use
  std::int64_t weight_bytes = 0;  ///< what the engine's weights take of it, in all forms
};

/// What an engine remembers at most of a change of weights, while it goes on with the old ones: of
/// so many elements those that differ, where they are few.
[[nodiscard]] std::int64_t weight_change_bytes(std::int64_t elements);

/// How answers are drawn, for training and for evaluation, and what an engine may hold.
struct RolloutOptions {
  double temperature = 1.0;  ///< > 0: the trainer divides its logits by the same
  double top_p = 1.0;
  std::int64_t top_k = -1;
  double min_p = 0.0;
  /// Most ids recorded of what is left for a token; of more only the likeliest are left. 0: none.
  std::int64_t nucleus_limit = 4096;
  std::int64_t top_logprobs_num = 0;  ///< likeliest tokens recorded for each token of an answer
  double repetition_penalty = 1.0;    ///< penalties hold for evaluation too
  double presence_penalty = 0.0;
  double frequency_penalty = 0.0;
  std::optional<std::int64_t> max_context_len;   ///< unset: what the model can
  std::optional<std::int64_t> max_prompt_len;    ///< unset: context − 1
  std::optional<std::int64_t> max_response_len;  ///< unset: context − 1
  std::int64_t min_response_len = 0;             ///< so many tokens come before a stop token can
  std::vector<std::int64_t> stop_token_ids;      ///< besides the model's end tokens
  std::vector<std::string> stop;                 ///< an answer ends where one of these texts ends

  std::optional<double> eval_temperature;  ///< 0: the likeliest token; unset: as in training
  std::optional<double> eval_top_p;
  std::optional<std::int64_t> eval_top_k;
  std::optional<double> eval_min_p;
  std::optional<std::int64_t> eval_max_response_len;
  std::optional<std::int64_t> eval_min_response_len;

  std::optional<std::int64_t> seed;            ///< of sampling; unset: the run's
  std::int64_t concurrency = 512;              ///< sequences in flight on one engine
  std::int64_t prefill_tokens = 1024;          ///< prompt tokens read in one step
  std::optional<std::int64_t> kv_cache_bytes;  ///< keys and values of one engine
  /// Instead: weights, keys and values of one engine, as a share of what its rank may use.
  std::optional<double> mem_fraction_static;
  bool disable_radix_cache = false;  ///< sequences do not share what they begin with
  std::int64_t threads = 1;          ///< that compute on one engine
  PauseGenerationMode pause_generation_mode = PauseGenerationMode::retract;
  bool check_weight_update_equal = false;

  /// Throws UserError.
  void validate() const;
  /// What does not fit the model: throws UserError.
  void validate(const model::ModelConfig& model) const;

  /// What one sequence of context_tokens() needs for its keys and values.
  [[nodiscard]] std::int64_t least_cache_bytes(const model::ModelConfig& model) const;
  /// Bytes for keys and values: those given, or what the share leaves beside the weights. Throws
  /// UserError if that holds no sequence, and says how much is needed.
  [[nodiscard]] std::int64_t cache_bytes(const model::ModelConfig& model,
                                         const EngineMemory& memory) const;
  [[nodiscard]] std::int64_t context_tokens(const model::ModelConfig& model) const;
  /// Longest prompt that may be asked.
  [[nodiscard]] std::int64_t prompt_tokens(const model::ModelConfig& model) const;
  /// What goes into the leases; the model's end tokens are among the stop tokens.
  [[nodiscard]] sample::SamplingOptions training_sampling(const model::ModelConfig& model) const;
  [[nodiscard]] sample::SamplingOptions evaluation_sampling(const model::ModelConfig& model) const;
};

/// --rollout-temperature, --rollout-top-p, --rollout-top-k, --rollout-min-p,
/// --rollout-nucleus-limit, --rollout-top-logprobs-num, --rollout-repetition-penalty,
/// --rollout-presence-penalty, --rollout-frequency-penalty,
/// --rollout-max-context-len, --rollout-max-prompt-len, --rollout-max-response-len,
/// --rollout-min-response-len, --rollout-stop-token-ids, --rollout-stop, --eval-temperature,
/// --eval-top-p, --eval-top-k, --eval-min-p, --eval-max-response-len, --eval-min-response-len,
/// --rollout-seed, --sglang-server-concurrency, --sglang-chunked-prefill-size, --kv-cache-bytes,
/// --sglang-mem-fraction-static, --sglang-disable-radix-cache, --rollout-threads,
/// --pause-generation-mode.
void declare_options(base::OptionTable& table, RolloutOptions& options);

}  // namespace physarum::rollout
