#include "physarum/rollout/options.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "physarum/text/utf8.hpp"

#include "cache_size.hpp"

namespace physarum::rollout {

namespace {
constexpr std::int64_t many = std::numeric_limits<std::int32_t>::max();
constexpr double least_temperature = 1e-6;
constexpr const char* fraction_flag = "--sglang-mem-fraction-static";
// With a wider range, fp32 logits could overflow.
constexpr base::Range<double> repetition_range = {0.01, 100};
// The range of vLLM and SGLang.
constexpr base::Range<double> penalty_range = {-2, 2};

void require(bool condition, const char* wrong, const char* flag, const char* mend) {
  if (!condition) throw base::UserError(wrong, flag, mend);
}

void require_temperature(double temperature, const char* flag, const char* mend) {
  // Logits are multiplied by 1 / temperature in fp32.
  require(temperature >= least_temperature && std::isfinite(temperature),
          "the temperature is not a number from 1e-6 up", flag, mend);
}

void require_top(double top_p, std::int64_t top_k, const char* p_flag, const char* k_flag) {
  require(top_p > 0 && top_p <= 1, "top-p is not in (0, 1]", p_flag, "give 1 to switch it off");
  require(top_k == -1 || top_k >= 1, "top-k is neither -1 nor at least 1", k_flag,
          "give -1 to switch it off");
}

void require_min_p(double min_p, const char* flag) {
  require(min_p >= 0 && min_p <= 1, "min-p is not in [0, 1]", flag, "give 0 to switch it off");
}

void require_penalty(double penalty, base::Range<double> range, const char* flag,
                     const char* mend) {
  require(penalty >= range.low && penalty <= range.high, "the penalty is out of range", flag, mend);
}

/// A shortest answer must fit where the longest does, and something must be left to draw before it.
void require_shortest(const sample::SamplingOptions& sampling, const model::ModelConfig& model,
                      const char* flag, const char* max_flag) {
  require(sampling.min_response_tokens <= sampling.max_response_tokens,
          "the shortest answer is longer than the longest", flag,
          (std::string("give at most ") + max_flag).c_str());
  require(
      sampling.min_response_tokens == 0 || std::ssize(sampling.stop_token_ids) < model.vocab_size,
      "every token is a stop token, so no answer can be longer than none", flag, "give 0");
}

void require_stop_strings(const std::vector<std::string>& strings) {
  const char* flag = "--rollout-stop";
  // A long text must not become a long message.
  if (strings.size() > sample::most_stop_strings) {
    throw base::UserError(std::to_string(strings.size()) + " stop strings", flag,
                          "give at most " + std::to_string(sample::most_stop_strings));
  }
  for (const auto& string : strings) {
    require(!string.empty(), "an empty stop string", flag, "leave it out");
    if (string.size() > sample::most_stop_string_bytes) {
      throw base::UserError("a stop string of " + std::to_string(string.size()) + " bytes", flag,
                            "give at most " + std::to_string(sample::most_stop_string_bytes));
    }
    require(!text::find_invalid_utf8(string), "a stop string that is not UTF-8", flag,
            "answers are UTF-8; write it so");
  }
}

void require_tokens(const std::optional<std::int64_t>& tokens, const char* flag) {
  require(!tokens || *tokens >= 1, "a limit below one token", flag, "give at least 1");
}
}  // namespace

void RolloutOptions::validate() const {
  require_temperature(
      temperature, "--rollout-temperature",
      "give a larger one; answers by the likeliest token are for --eval-temperature 0");
  require_top(top_p, top_k, "--rollout-top-p", "--rollout-top-k");
  require_top(eval_top_p.value_or(top_p), eval_top_k.value_or(top_k), "--eval-top-p",
              "--eval-top-k");
  if (eval_temperature.value_or(1) != 0) {
    require_temperature(eval_temperature.value_or(1), "--eval-temperature",
                        "give 0 for the likeliest token, or a larger one");
  }
  require_min_p(min_p, "--rollout-min-p");
  require_min_p(eval_min_p.value_or(min_p), "--eval-min-p");
  require(nucleus_limit >= 0, "a limit below 0", "--rollout-nucleus-limit",
          "give 0 to record nothing");
  require(top_logprobs_num >= 0 && top_logprobs_num <= sample::most_top_log_probs,
          "a number of tokens that is out of range", "--rollout-top-logprobs-num",
          "give one from 0 to 1024");
  require_penalty(repetition_penalty, repetition_range, "--rollout-repetition-penalty",
                  "give a value from 0.01 to 100; 1 switches it off");
  require_penalty(presence_penalty, penalty_range, "--rollout-presence-penalty",
                  "give a value from -2 to 2; 0 switches it off");
  require_penalty(frequency_penalty, penalty_range, "--rollout-frequency-penalty",
                  "give a value from -2 to 2; 0 switches it off");
  require(!max_context_len || *max_context_len >= 2, "a context below two tokens",
          "--rollout-max-context-len", "give at least 2: one for the prompt, one for the answer");
  require_stop_strings(stop);
  require_tokens(max_prompt_len, "--rollout-max-prompt-len");
  require_tokens(max_response_len, "--rollout-max-response-len");
  require_tokens(eval_max_response_len, "--eval-max-response-len");
  require(min_response_len >= 0, "a length below 0", "--rollout-min-response-len",
          "give 0 or more");
  require(eval_min_response_len.value_or(0) >= 0, "a length below 0", "--eval-min-response-len",
          "give 0 or more");
  require(concurrency >= 1, "an engine without room for a sequence", "--sglang-server-concurrency",
          "give at least 1");
  require(prefill_tokens >= 1, "an engine that reads no prompts", "--sglang-chunked-prefill-size",
          "give at least 1");
  require(kv_cache_bytes.value_or(1) >= 1, "no memory for keys and values", "--kv-cache-bytes",
          "give some megabytes");
  const auto share = mem_fraction_static.value_or(1);
  require(share > 0 && share <= 1, "a share of the memory that is not in (0, 1]", fraction_flag,
          "give for example 0.5");
  require(!kv_cache_bytes || !mem_fraction_static,
          "the memory of an engine is given in bytes and as a share", fraction_flag,
          "leave out this one or --kv-cache-bytes");
}

void RolloutOptions::validate(const model::ModelConfig& model) const {
  require(nucleus_limit == 0 || top_k <= nucleus_limit || top_k >= model.vocab_size,
          "top-k leaves more tokens than are recorded", "--rollout-top-k",
          "give a --rollout-nucleus-limit of as many, or 0 to record nothing");
  require(top_logprobs_num <= model.vocab_size, "more tokens than the model's vocabulary has",
          "--rollout-top-logprobs-num", "give fewer");
  require(context_tokens(model) <= model.max_position_embeddings,
          "the context is longer than the model's max_position_embeddings",
          "--rollout-max-context-len", "give a smaller one or leave it out");
  require(context_tokens(model) >= 2, "the model's context is below two tokens",
          "max_position_embeddings", "use another model");
  require(prompt_tokens(model) < context_tokens(model),
          "prompts may fill the whole context and leave no room for an answer",
          "--rollout-max-prompt-len", "give less than --rollout-max-context-len");
  if (!mem_fraction_static) (void)cache_bytes(model, {});
  for (const auto id : stop_token_ids) {
    require(id >= 0 && id < model.vocab_size, "a stop token beyond the model's vocabulary",
            "--rollout-stop-token-ids", "give ids below the model's vocab_size");
  }
  require_shortest(training_sampling(model), model, "--rollout-min-response-len",
                   "--rollout-max-response-len");
  require_shortest(evaluation_sampling(model), model, "--eval-min-response-len",
                   "--eval-max-response-len");
}

std::int64_t RolloutOptions::least_cache_bytes(const model::ModelConfig& model) const {
  return cache_bytes_for(model, context_tokens(model));
}

std::int64_t RolloutOptions::cache_bytes(const model::ModelConfig& model,
                                         const EngineMemory& memory) const {
  const auto least = least_cache_bytes(model);
  const auto needs = "keys and values of one sequence take " + std::to_string(least) + " bytes";
  if (!mem_fraction_static) {
    const auto bytes = kv_cache_bytes.value_or(default_kv_cache_bytes);
    if (bytes >= least) return bytes;
    throw base::UserError(needs + ", more than the " + std::to_string(bytes) + " that there are",
                          "--kv-cache-bytes", "give more, or a smaller --rollout-max-context-len");
  }
  const auto share =
      static_cast<std::int64_t>(*mem_fraction_static * static_cast<double>(memory.usable_bytes));
  if (share - memory.weight_bytes >= least) return share - memory.weight_bytes;
  throw base::UserError(needs + " and weights " + std::to_string(memory.weight_bytes) +
                            ", together more than this share of the rank's " +
                            std::to_string(memory.usable_bytes) + " bytes",
                        fraction_flag,
                        "give a larger share or fewer ranks a machine, or a smaller "
                        "--rollout-max-context-len");
}

std::int64_t RolloutOptions::context_tokens(const model::ModelConfig& model) const {
  return max_context_len.value_or(model.max_position_embeddings);
}

std::int64_t RolloutOptions::prompt_tokens(const model::ModelConfig& model) const {
  return max_prompt_len.value_or(context_tokens(model) - 1);
}

sample::SamplingOptions RolloutOptions::training_sampling(const model::ModelConfig& model) const {
  sample::SamplingOptions sampling;
  sampling.temperature = temperature;
  sampling.top_k = top_k;
  sampling.top_p = top_p;
  sampling.min_p = min_p;
  sampling.nucleus_limit = nucleus_limit;
  sampling.top_log_probs = top_logprobs_num;
  sampling.repetition_penalty = repetition_penalty;
  sampling.presence_penalty = presence_penalty;
  sampling.frequency_penalty = frequency_penalty;
  sampling.max_context_tokens = context_tokens(model);
  sampling.min_response_tokens = min_response_len;
  sampling.max_response_tokens = max_response_len.value_or(context_tokens(model) - 1);
  sampling.stop_token_ids = model.eos_token_ids;
  for (const auto id : stop_token_ids) {
    sampling.stop_token_ids.push_back(static_cast<base::TokenId>(id));
  }
  std::sort(sampling.stop_token_ids.begin(), sampling.stop_token_ids.end());
  const auto end = std::unique(sampling.stop_token_ids.begin(), sampling.stop_token_ids.end());
  sampling.stop_token_ids.erase(end, sampling.stop_token_ids.end());
  sampling.stop_strings = stop;
  return sampling;
}

sample::SamplingOptions RolloutOptions::evaluation_sampling(const model::ModelConfig& model) const {
  auto sampling = training_sampling(model);
  sampling.nucleus_limit = 0;  // nobody learns from these answers
  sampling.temperature = eval_temperature.value_or(sampling.temperature);
  sampling.top_k = eval_top_k.value_or(sampling.top_k);
  sampling.top_p = eval_top_p.value_or(sampling.top_p);
  sampling.min_p = eval_min_p.value_or(sampling.min_p);
  sampling.min_response_tokens = eval_min_response_len.value_or(sampling.min_response_tokens);
  sampling.max_response_tokens = eval_max_response_len.value_or(sampling.max_response_tokens);
  return sampling;
}

void declare_options(base::OptionTable& table, RolloutOptions& o) {
  table.topic("rollout");
  table.add("rollout-temperature", o.temperature, "logits are divided by it; above 0", {0, 1e6});
  table.add("rollout-top-p", o.top_p, "draw from the likeliest tokens with this mass", {0, 1});
  table.add("rollout-top-k", o.top_k, "draw from this many likeliest tokens; -1: all", {-1, many});
  table.add("rollout-min-p", o.min_p,
            "draw from tokens with at least this share of the likeliest's probability; 0: all",
            {0, 1});
  table.add("rollout-nucleus-limit", o.nucleus_limit,
            "with top-p, top-k or min-p: most ids that are recorded, so that training sees the "
            "same distribution, and kept; 0: none are recorded",
            {0, many});
  table.add("rollout-top-logprobs-num", o.top_logprobs_num,
            "so many likeliest tokens are recorded for each token of an answer, with log-probs",
            {0, sample::most_top_log_probs});
  table.add(
      "rollout-repetition-penalty", o.repetition_penalty,
      "divides positive and multiplies negative logits of tokens of prompt and answer; 1: off",
      repetition_range);
  table.add("rollout-presence-penalty", o.presence_penalty,
            "subtracted from the logits of tokens that the answer has; 0: off", penalty_range);
  table.add("rollout-frequency-penalty", o.frequency_penalty,
            "the same, times how often the answer has them; 0: off", penalty_range);
  table.add("rollout-max-context-len", o.max_context_len,
            "most tokens of prompt and answer; unset: the model's", {2, many});
  table.add("rollout-max-prompt-len", o.max_prompt_len,
            "most tokens of a prompt; unset: context - 1", {1, many});
  table.add("rollout-max-response-len", o.max_response_len,
            "most tokens of an answer; unset: context - 1", {1, many});
  table.add("rollout-min-response-len", o.min_response_len,
            "no stop token is drawn before an answer has so many tokens", {0, many});
  table.add_list("rollout-stop-token-ids", o.stop_token_ids,
                 "tokens that end an answer, besides the model's end tokens");
  table.add_texts("rollout-stop", o.stop,
                  "texts that end an answer, across tokens too; one, or several as an array");
  table.add("rollout-seed", o.seed, "of sampling; unset: --seed",
            {0, std::numeric_limits<std::int64_t>::max()});
  table.add("sglang-server-concurrency", o.concurrency, "sequences in flight on one engine",
            {1, many});
  table.add("sglang-chunked-prefill-size", o.prefill_tokens,
            "most prompt tokens that an engine reads in one step", {1, many});
  table.add("kv-cache-bytes", o.kv_cache_bytes,
            "memory for keys and values of one engine; unset: 1 GiB",
            {1, std::numeric_limits<std::int64_t>::max()});
  table.add("sglang-mem-fraction-static", o.mem_fraction_static,
            "instead: weights, keys and values of one engine as a share of the memory that the "
            "job may use on the machine, divided by its ranks there",
            {0, 1});
  table.add_switch("sglang-disable-radix-cache", o.disable_radix_cache,
                   "read every prompt whole, also where an earlier sequence began with the same");
  table.add("rollout-threads", o.threads, "threads that compute on one engine", {1, 1024});
  table.add_choice("pause-generation-mode", o.pause_generation_mode,
                   "what becomes of running sequences when weights change",
                   {"abort", "retract", "in_place"});
  table.add_switch("check-weight-update-equal", o.check_weight_update_equal,
                   "after each change of weights, compare what the engine multiplies by with what "
                   "was published, bit for bit, and after each pull all bytes of the image with "
                   "their digests; the run ends if they differ");
  table.topic("evaluation");
  table.add("eval-temperature", o.eval_temperature, "0: the likeliest token; unset: as in training",
            {0, 1e6});
  table.add("eval-top-p", o.eval_top_p, "unset: as in training", {0, 1});
  table.add("eval-top-k", o.eval_top_k, "unset: as in training", {-1, many});
  table.add("eval-min-p", o.eval_min_p, "unset: as in training", {0, 1});
  table.add("eval-max-response-len", o.eval_max_response_len, "unset: as in training", {1, many});
  table.add("eval-min-response-len", o.eval_min_response_len, "unset: as in training", {0, many});
}

}  // namespace physarum::rollout
