#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

#include "physarum/weights/image.hpp"

#include "physarum/model/parameter_store.hpp"

#include "physarum/rollout/decode_engine.hpp"

namespace physarum::rollout {
namespace {

/// The built-in model: 1.2 million parameters.
model::ModelConfig config_1m() {
  model::ModelConfig config;
  config.hidden_size = 128;
  config.num_hidden_layers = 4;
  config.num_attention_heads = 4;
  config.num_key_value_heads = 2;
  config.head_dim = 32;
  config.intermediate_size = 512;
  config.vocab_size = 512;
  config.tie_word_embeddings = true;
  config.query_key_value_bias = true;
  config.max_position_embeddings = 2048;
  return config;
}

weights::Image image_of(const model::ModelConfig& config) {
  model::ParameterStore store(config, model::Gradients::none);
  model::initialise(config, 1, store.values());
  weights::Image image(
      weights::make_catalogue(model::tensor_specs(config), weights::TransferType::bf16));
  image.assign(store.values());
  image.set_version(base::WeightVersion(0));
  return image;
}

/// Multiplications and additions of the matrix products for one row, without the head.
double row_flops(const model::ModelConfig& c) {
  const auto row =
      c.hidden_size * (c.attention_width() + c.query_width() + 3 * c.intermediate_size);
  return 2.0 * static_cast<double>(c.num_hidden_layers * row);
}

/// Arguments: prompts, answers to each. Prompts of 13 tokens, answers of 32.
void generate(benchmark::State& state) {
  constexpr std::int64_t prompt_tokens = 13;
  constexpr std::int64_t answer_tokens = 32;
  const auto config = config_1m();
  const auto prompts = state.range(0);
  const auto answers = state.range(1);
  DecodeEngine engine(config, {.sequences = prompts * answers}, 1);
  engine.set_weights(image_of(config), PauseGenerationMode::retract);
  sample::SamplingOptions sampling;
  sampling.max_response_tokens = answer_tokens;
  sampling.max_context_tokens = 2048;
  for (auto _ : state) {
    for (std::int64_t p = 0; p < prompts; ++p) {
      std::vector<base::TokenId> prompt;
      for (std::int64_t t = 0; t < prompt_tokens; ++t) {
        prompt.push_back(static_cast<base::TokenId>((p * 31 + t * 7) % config.vocab_size));
      }
      engine.add({std::move(prompt), base::SampleId(p * answers), answers, sampling});
    }
    while (engine.unfinished() > 0) benchmark::DoNotOptimize(engine.step());
  }
  const auto drawn = static_cast<double>(prompts * answers * answer_tokens);
  // The last token of an answer is not read.
  const auto rows = static_cast<double>(prompts * (prompt_tokens + answers * (answer_tokens - 1)));
  const double head = 2.0 * static_cast<double>(config.hidden_size * config.vocab_size);
  state.counters["token/s"] =
      benchmark::Counter(drawn, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["GFLOP/s"] = benchmark::Counter(1e-9 * (rows * row_flops(config) + drawn * head),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(generate)->Args({64, 1})->Args({8, 8})->Args({1, 1})->Args({32, 8})->Unit(
    benchmark::kMillisecond);

/// What a swap of weights stops the engine for.
void set_weights(benchmark::State& state) {
  const auto config = config_1m();
  const auto image = image_of(config);
  DecodeEngine engine(config, {}, 1);
  for (auto _ : state) engine.set_weights(image, PauseGenerationMode::retract);
}
BENCHMARK(set_weights)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace physarum::rollout
