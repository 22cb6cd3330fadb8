#include <algorithm>
#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

#include "physarum/model/packed_batch.hpp"
#include "physarum/model/parameter_store.hpp"
#include "physarum/model/transformer.hpp"

#include "projection.hpp"

namespace physarum::model {
namespace {

/// The built-in model: 1.2 million parameters.
ModelConfig config_1m() {
  ModelConfig config;
  config.hidden_size = 128;
  config.num_hidden_layers = 4;
  config.num_attention_heads = 4;
  config.num_key_value_heads = 2;
  config.head_dim = 32;
  config.intermediate_size = 512;
  config.vocab_size = 512;
  config.tie_word_embeddings = true;
  config.query_key_value_bias = true;
  config.max_position_embeddings = 128;
  return config;
}

/// As many multiplications for a token, but chosen: 2 of 8 experts of half the width.
ModelConfig config_experts() {
  ModelConfig config = config_1m();
  config.model_type = "qwen3_moe";
  config.query_key_norm = true;
  config.query_key_value_bias = false;
  config.experts = {.count = 8,
                    .per_token = 2,
                    .intermediate_size = config.intermediate_size / 2,
                    .normalise = true,
                    .layers = std::vector<bool>(4, true)};
  return config;
}

constexpr std::int64_t prompt_tokens = 13;
constexpr std::int64_t response_tokens = 32;

PackedBatch batch_of(std::int64_t sequences) {
  PackedBatch batch;
  std::vector<base::TokenId> tokens(prompt_tokens + response_tokens);
  for (std::int64_t s = 0; s < sequences; ++s) {
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      tokens[t] = static_cast<base::TokenId>((static_cast<std::size_t>(s) * 31 + t * 7) % 512);
    }
    batch.append(tokens, prompt_tokens);
  }
  return batch;
}

/// Multiplications and additions of the matrix products that a forward pass needs; the last block's
/// rows behind its attention are only the scored ones.
double forward_flops(const ModelConfig& c, const PackedBatch& batch) {
  const auto tokens = static_cast<double>(batch.n_tokens());
  const auto rows = static_cast<double>(batch.n_targets());
  const auto layers = static_cast<double>(c.num_hidden_layers);
  const auto mixer = static_cast<double>(c.hidden_size * c.attention_width());
  const auto row = static_cast<double>(c.hidden_size * (c.query_width() + 3 * c.intermediate_size));
  const auto head = static_cast<double>(c.hidden_size * c.vocab_size);
  return 2 * (tokens * (layers * mixer + (layers - 1) * row) + rows * (row + head));
}

void report(benchmark::State& state, double flops) {
  state.counters["GFLOP/s"] =
      benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

void forward(benchmark::State& state) {
  const auto config = config_1m();
  ParameterStore store(config, Gradients::none);
  initialise(config, 1, store.values());
  Transformer transformer(config, store);
  const auto batch = batch_of(state.range(0));
  for (auto step : state) benchmark::DoNotOptimize(transformer.forward(batch, {}).log_probs[0]);
  report(state, forward_flops(config, batch));
}
BENCHMARK(forward)->Arg(8)->Arg(32)->Unit(benchmark::kMillisecond);

void learn(benchmark::State& state, const ModelConfig& config) {
  ParameterStore store(config, Gradients::allocate);
  initialise(config, 1, store.values());
  Transformer transformer(config, store);
  const auto batch = batch_of(state.range(0));
  const std::vector<float> d_log_probs(static_cast<std::size_t>(batch.n_targets()), 1e-3F);
  for (auto step : state) {
    benchmark::DoNotOptimize(transformer.forward(batch, {.keep = Keep::for_backward}).log_probs[0]);
    transformer.backward(d_log_probs);
  }
  report(state, 3 * forward_flops(config, batch));
}
void forward_backward(benchmark::State& state) { learn(state, config_1m()); }
void forward_backward_experts(benchmark::State& state) { learn(state, config_experts()); }
BENCHMARK(forward_backward_experts)->Arg(32)->Unit(benchmark::kMillisecond);
BENCHMARK(forward_backward)
    ->Arg(4)
    ->Arg(8)
    ->Arg(12)
    ->Arg(16)
    ->Arg(32)
    ->Arg(64)
    ->Unit(benchmark::kMillisecond);

/// A linear layer with `in` inputs and `out` outputs on 1440 rows, chunk by chunk.
struct LinearLayer {
  static constexpr std::int64_t rows = 1440;
  explicit LinearLayer(benchmark::State& state)
      : in(state.range(0)),
        out(state.range(1)),
        x(rows * in),
        w(out * in),
        y(rows * out),
        projection(in, {{0, -1, out}}) {
    projection.pack_for_forward(w.data());
    projection.pack_for_backward(w.data());
  }
  template <class Product>
  void run(benchmark::State& state, Product product) {
    for (auto step : state) {
      for (std::int64_t first = 0; first < rows; first += chunk_rows) {
        const auto count = std::min(chunk_rows, rows - first);
        product(dense(x.data() + first * in, count, in), dense(y.data() + first * out, count, out));
      }
    }
    report(state, 2.0 * static_cast<double>(rows * in * out));
  }
  std::int64_t in;
  std::int64_t out;
  AlignedBuffer x;
  AlignedBuffer w;
  AlignedBuffer y;
  Projection projection;
  GemmWorkspace workspace;
};
void product_forward(benchmark::State& state) {
  LinearLayer layer(state);
  layer.run(state,
            [&](Matrix x, Matrix y) { layer.projection.forward(read(x), y, Update::replace); });
}
void product_backward_input(benchmark::State& state) {
  LinearLayer layer(state);
  layer.run(state, [&](Matrix x, Matrix y) { layer.projection.backward_input(read(y), x); });
}
void product_backward_weights(benchmark::State& state) {
  LinearLayer layer(state);
  layer.run(state, [&](Matrix x, Matrix y) {
    layer.projection.backward_weights(read(y), read(x), layer.w.data(), layer.workspace);
  });
}
void layer_sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Args({128, 256})
      ->Args({128, 128})
      ->Args({128, 1024})
      ->Args({512, 128})
      ->Args({128, 512});
  benchmark->Unit(benchmark::kMicrosecond);
}
BENCHMARK(product_forward)->Apply(layer_sizes);
BENCHMARK(product_backward_input)->Apply(layer_sizes);
BENCHMARK(product_backward_weights)->Apply(layer_sizes);

}  // namespace
}  // namespace physarum::model
