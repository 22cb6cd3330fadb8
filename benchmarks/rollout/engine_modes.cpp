#include "engine_modes.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "physarum/base/contracts.hpp"
#include "physarum/base/deadline.hpp"
#include "physarum/base/philox.hpp"

#include "process_memory.hpp"

namespace physarum::rollout {

namespace {
constexpr std::int64_t group_answers = 8;  // as many as a group of GRPO often has

sample::SamplingOptions sampling_of(const FigureOptions& options, std::int64_t tokens) {
  sample::SamplingOptions sampling;
  sampling.temperature = options.temperature;
  sampling.max_response_tokens = tokens;
  sampling.max_context_tokens = 1 << 20;
  return sampling;
}

/// Tokens that sequence `index` has to make: one from reading its prompt, one to warm up, and
/// options.tokens for each number of sequences that it belongs to.
std::int64_t staircase_tokens(const FigureOptions& options, std::int64_t index) {
  const auto phases = std::count_if(options.parallel.begin(), options.parallel.end(),
                                    [&](std::int64_t sequences) { return index < sequences; });
  return 2 + phases * options.tokens;
}

void add_staircase(const FigureOptions& options, std::int64_t vocab_size, DecodeEngine& engine) {
  const auto all = options.parallel.front();
  for (std::int64_t first = 0; first < all;) {
    const auto tokens = staircase_tokens(options, first);
    auto end = first + 1;
    while (first >= options.distinct && end < all && end < first + group_answers &&
           staircase_tokens(options, end) == tokens) {
      ++end;
    }
    engine.add({.prompt = make_prompt(first, options.context, vocab_size),
                .first_sample = base::SampleId(first),
                .n_samples = end - first,
                .sampling = sampling_of(options, tokens)});
    first = end;
  }
}

void finish(DecodeEngine& engine) {
  while (engine.unfinished() > 0) static_cast<void>(engine.step());
}

double seconds_of(const FigureOptions& options, LoadedEngine& loaded, std::int64_t prompt,
                  std::int64_t answers, std::int64_t tokens) {
  const base::Stopwatch watch;
  loaded.engine.add({.prompt = make_prompt(prompt, options.context, loaded.config.vocab_size),
                     .first_sample = base::SampleId(prompt * group_answers),
                     .n_samples = answers,
                     .sampling = sampling_of(options, tokens)});
  finish(loaded.engine);
  return watch.seconds();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}
}  // namespace

void measure_decode(const FigureOptions& options) {
  const auto all = options.parallel.front();
  const auto phases = static_cast<std::int64_t>(options.parallel.size());
  const auto context = options.context + 2 + phases * options.tokens;
  auto loaded = load_engine(options, {.context_tokens = context,
                                      .sequences = all,
                                      .prefill_tokens = all * options.context,
                                      .kv_cache_bytes = options.kv_cache_bytes});
  auto& engine = loaded.engine;
  add_staircase(options, loaded.config.vocab_size, engine);
  static_cast<void>(engine.step());
  static_cast<void>(engine.step());
  base::expects(engine.statistics().generated_tokens == 2 * all, "all run together");
  const auto work = work_of(loaded.config);
  const double bytes = options.storage == "bf16" ? work.matrix_bytes / 2 : work.matrix_bytes;
  for (const auto sequences : options.parallel) {
    base::expects(engine.unfinished() == sequences, "the number of sequences is what is measured");
    const base::Stopwatch watch;
    for (std::int64_t step = 0; step < options.tokens; ++step) static_cast<void>(engine.step());
    const double seconds = watch.seconds();
    const auto drawn = static_cast<double>(sequences * options.tokens);
    std::printf(
        "{\"engine\": \"physarum\", \"what\": \"decode\", \"storage\": \"%s\", \"context\": %ld, "
        "\"sequences\": %ld, \"tokens_per_s\": %.3f, \"product_gflops\": %.3f, "
        "\"weight_gb_per_s\": %.3f}\n",
        options.storage.c_str(), options.context, sequences, drawn / seconds,
        1e-9 * drawn * (work.layers + work.head) / seconds,
        1e-9 * static_cast<double>(options.tokens) * bytes / seconds);
  }
}

void measure_batch(const FigureOptions& options) {
  const auto context = options.context + options.tokens;
  auto loaded =
      load_engine(options, {.context_tokens = context, .kv_cache_bytes = options.kv_cache_bytes});
  auto& engine = loaded.engine;
  std::vector<std::vector<base::TokenId>> answers(static_cast<std::size_t>(options.prompts));
  const base::Stopwatch watch;
  for (std::int64_t p = 0; p < options.prompts; ++p) {
    engine.add({.prompt = make_prompt(p, options.context, loaded.config.vocab_size),
                .first_sample = base::SampleId(p),
                .n_samples = 1,
                .sampling = sampling_of(options, options.tokens)});
  }
  while (engine.unfinished() > 0) {
    for (auto& answer : engine.step()) {
      answers[static_cast<std::size_t>(answer.id.value())] = std::move(answer.response);
    }
  }
  const double seconds = watch.seconds();
  std::printf(
      "{\"engine\": \"physarum\", \"what\": \"batch\", \"tokens_per_s\": %.3f, \"answers\": [",
      static_cast<double>(options.prompts * options.tokens) / seconds);
  for (std::size_t p = 0; p < answers.size(); ++p) {
    std::printf("%s[", p == 0 ? "" : ", ");
    for (std::size_t t = 0; t < answers[p].size(); ++t) {
      std::printf("%s%d", t == 0 ? "" : ", ", static_cast<int>(answers[p][t]));
    }
    std::printf("]");
  }
  std::printf("]}\n");
}

void measure_prefill(const FigureOptions& options) {
  auto loaded = load_engine(
      options, {.context_tokens = options.context + 1, .kv_cache_bytes = options.kv_cache_bytes});
  static_cast<void>(seconds_of(options, loaded, 0, 1, 1));
  std::vector<double> seconds;
  for (std::int64_t i = 1; i <= options.repeats; ++i) {
    seconds.push_back(seconds_of(options, loaded, i, 1, 1));
  }
  const auto work = work_of(loaded.config);
  const auto tokens = static_cast<double>(options.context);
  // Of the last layer only the last token's output is needed.
  const double products = tokens * work.layers - (tokens - 1) * work.last_outputs + work.head;
  const double attention = work.attended * tokens * (tokens + 1) / 2;
  const double typical = median(seconds);
  std::printf(
      "{\"engine\": \"physarum\", \"what\": \"prefill\", \"storage\": \"%s\", \"context\": %ld, "
      "\"tokens_per_s\": %.3f, \"product_gflops\": %.3f, \"gflops\": %.3f}\n",
      options.storage.c_str(), options.context, tokens / typical, 1e-9 * products / typical,
      1e-9 * (products + attention) / typical);
}

void measure_shared(const FigureOptions& options) {
  auto loaded = load_engine(
      options, {.context_tokens = options.context + 2, .kv_cache_bytes = options.kv_cache_bytes});
  static_cast<void>(seconds_of(options, loaded, 0, group_answers, 2));
  std::vector<double> one;
  std::vector<double> many;
  for (std::int64_t i = 0; i < options.repeats; ++i) {
    one.push_back(seconds_of(options, loaded, 2 * i + 1, 1, 2));
    many.push_back(seconds_of(options, loaded, 2 * i + 2, group_answers, 2));
  }
  std::printf(
      "{\"engine\": \"physarum\", \"what\": \"shared\", \"context\": %ld, \"one_s\": %.5f, "
      "\"eight_s\": %.5f}\n",
      options.context, median(one), median(many));
}

void measure_turn(const FigureOptions& options) {
  constexpr std::int64_t answer_tokens = 16;
  constexpr std::int64_t new_tokens = 128;
  const auto whole = options.context + answer_tokens + new_tokens;
  EngineLimits limits{.context_tokens = whole + 1,
                      .prefill_tokens = whole,
                      .kv_cache_bytes = options.kv_cache_bytes};
  auto reusing = load_engine(options, limits);
  limits.prefix_reuse = PrefixReuse::off;
  auto reading = load_engine(options, limits);
  std::int64_t request = 0;
  const auto answer = [&](LoadedEngine& loaded, std::vector<base::TokenId> prompt,
                          std::int64_t tokens) {
    const base::Stopwatch watch;
    loaded.engine.add({.prompt = std::move(prompt),
                       .first_sample = base::SampleId(request++),
                       .n_samples = 1,
                       .sampling = sampling_of(options, tokens)});
    std::vector<base::TokenId> response;
    while (loaded.engine.unfinished() > 0) {
      for (auto& one : loaded.engine.step()) response = std::move(one.response);
    }
    return std::pair(watch.seconds(), std::move(response));
  };
  std::vector<double> turns, wholes, firsts, alone;
  for (std::int64_t i = 0; i <= options.repeats; ++i) {
    const auto vocab = reusing.config.vocab_size;
    auto conversation = make_prompt(2 * i, options.context, vocab);
    const auto response = answer(reusing, conversation, answer_tokens).second;
    conversation.insert(conversation.end(), response.begin(), response.end());
    const auto first = answer(reading, conversation, 1).first;
    const auto more = make_prompt(2 * i + 1, new_tokens, vocab);
    conversation.insert(conversation.end(), more.begin(), more.end());
    const auto turn = answer(reusing, conversation, 1).first;
    const auto all = answer(reading, conversation, 1).first;
    const auto fresh = answer(reading, more, 1).first;
    if (i == 0) continue;  // warms up
    turns.push_back(turn);
    wholes.push_back(all);
    firsts.push_back(first);
    alone.push_back(fresh);
  }
  std::printf(
      "{\"engine\": \"physarum\", \"what\": \"turn\", \"context\": %ld, \"new_tokens\": %ld, "
      "\"reused_tokens\": %ld, \"turn_s\": %.5f, \"whole_s\": %.5f, \"first_s\": %.5f, "
      "\"alone_s\": %.5f}\n",
      options.context + answer_tokens, new_tokens,
      reusing.engine.statistics().reused_tokens / (options.repeats + 1), median(turns),
      median(wholes), median(firsts), median(alone));
}

void measure_soak(const FigureOptions& options) {
  constexpr std::int64_t waiting = 500;
  constexpr std::int64_t together = 512;
  const auto program = resident_bytes();
  auto loaded = load_engine(options, {.context_tokens = options.context + options.tokens,
                                      .sequences = together,
                                      .kv_cache_bytes = options.kv_cache_bytes});
  auto& engine = loaded.engine;
  reset_peak();
  const auto loaded_bytes = resident_bytes();
  const base::RandomStream random(1, base::StreamKind::test);
  const auto length = [&](std::int64_t most, std::int64_t request, std::uint32_t what) {
    return 1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most),
                                                      static_cast<std::uint64_t>(request), what));
  };
  std::int64_t added = 0;
  std::int64_t ended = 0;
  std::int64_t early = 0;
  const base::Stopwatch watch;
  while (ended < options.requests) {
    for (; added < options.requests && engine.unfinished() < waiting + together; ++added) {
      const auto prompt = length(options.context, added, 0);
      engine.add({.prompt = make_prompt(added, prompt, loaded.config.vocab_size),
                  .first_sample = base::SampleId(added),
                  .n_samples = 1,
                  .sampling = sampling_of(options, length(options.tokens, added, 1))});
    }
    ended += static_cast<std::int64_t>(engine.step().size());
    if (early == 0 && ended >= options.requests / 10) early = resident_bytes();
  }
  // What the engine has to hold: its packed weights and the embedding, which also lies unpacked.
  const auto& config = loaded.config;
  const auto embedding = 4 * config.vocab_size * config.hidden_size;
  const auto weights = static_cast<std::int64_t>(work_of(config).matrix_bytes) + embedding;
  std::printf(
      "{\"engine\": \"physarum\", \"what\": \"soak\", \"requests\": %ld, \"seconds\": %.3f, "
      "\"program_bytes\": %ld, \"loaded_bytes\": %ld, \"early_bytes\": %ld, \"late_bytes\": %ld, "
      "\"peak_bytes\": %ld, "
      "\"weight_bytes\": %ld, "
      "\"kv_cache_bytes\": %ld}\n",
      ended, watch.seconds(), program, loaded_bytes, early, resident_bytes(), peak_resident_bytes(),
      weights, options.kv_cache_bytes);
}

}  // namespace physarum::rollout
