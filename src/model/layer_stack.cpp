#include "layer_stack.hpp"

#include <algorithm>

#include "physarum/base/contracts.hpp"

#include "row_selection.hpp"

namespace physarum::model {

namespace {
std::int64_t longest_sequence(std::span<const std::int64_t> starts) {
  std::int64_t longest = 0;
  for (std::size_t s = 1; s < starts.size(); ++s) {
    longest = std::max(longest, starts[s] - starts[s - 1]);
  }
  return longest;
}

std::int64_t count(std::span<const std::int64_t> rows) {
  return static_cast<std::int64_t>(rows.size());
}
}  // namespace

LayerStack::Layer::Layer(const ModelConfig& config, const LayerOffsets& at, std::int64_t window)
    : mixer(config, at, window), rows(config, at) {}

LayerStack::LayerStack(const ModelConfig& config, const ModelOffsets& at)
    : config_(&config),
      embedding_(at.embedding),
      rope_(config),
      memory_(at.layers.size()),
      balance_(config) {
  for (std::size_t i = 0; i < at.layers.size(); ++i) {
    layers_.emplace_back(config, at.layers[i], config.window(static_cast<std::int64_t>(i)));
  }
}

LayerStack::LayerMemory& LayerStack::memory_of(std::size_t layer) {
  return memory_[keep_ == Keep::for_backward ? layer : 0];
}

void LayerStack::forward(const float* flat, const PackedBatch& batch,
                         std::span<const std::int64_t> rows, Keep keep, LoadBalancing balancing) {
  base::expects(!rows.empty(), "somebody must look at the result");
  base::expects(balancing == LoadBalancing::skip ||
                    (config_->has_experts() && count(rows) == batch.n_tokens()),
                "load balancing is about all tokens of a model with experts");
  tokens_ = batch.tokens;
  starts_ = batch.sequence_starts;
  rows_.assign(rows.begin(), rows.end());
  keep_ = keep;
  balancing_ = balancing;
  if (balancing == LoadBalancing::compute) balance_.begin(starts_);
  rope_.reserve(longest_sequence(starts_));
  output_.reserve(count(rows_) * config_->hidden_size);
  d_output_.reserve(keep == Keep::for_backward ? count(rows_) * config_->hidden_size : 0);
  embed(flat);
  for (std::size_t layer = 0; layer + 1 < layers_.size(); ++layer) run_layer(flat, layer);
  run_last_layer(flat);
}

void LayerStack::embed(const float* flat) {
  const auto hidden = config_->hidden_size;
  auto& input = memory_of(0).input;
  input.reserve(sequences().tokens() * hidden);
  float* to = input.data();
  for (const auto token : tokens_) {
    to = std::copy_n(flat + embedding_ + token * hidden, hidden, to);
  }
}

void LayerStack::run_layer(const float* flat, std::size_t layer) {
  auto& memory = memory_of(layer);
  auto& next = memory_of(layer + 1).input;
  const auto tokens = sequences().tokens();
  const auto size = tokens * config_->hidden_size;
  layers_[layer].mixer.forward(flat, sequences(), memory.input.data(), memory.mixer, shared_);
  memory.rows.middle.reserve(size);
  std::copy_n(memory.input.data(), size, memory.rows.middle.data());
  next.reserve(size);
  layers_[layer].rows.forward(flat, tokens, memory.mixer.attended.data(), memory.rows, shared_,
                              next.data());
  note_choices(layer);
}

void LayerStack::note_choices(std::size_t layer) {
  if (balancing_ == LoadBalancing::skip || !layers_[layer].rows.has_experts()) return;
  balance_.add(memory_of(layer).rows.experts.routing);
}

void LayerStack::run_last_layer(const float* flat) {
  auto& memory = memory_of(layers_.size() - 1);
  const auto hidden = config_->hidden_size;
  const auto width = config_->query_width();
  layers_.back().mixer.forward(flat, sequences(), memory.input.data(), memory.mixer, shared_);
  selected_attended_.reserve(count(rows_) * width);
  memory.rows.middle.reserve(count(rows_) * hidden);
  gather_rows(memory.mixer.attended.data(), rows_, width, selected_attended_.data());
  gather_rows(memory.input.data(), rows_, hidden, memory.rows.middle.data());
  layers_.back().rows.forward(flat, count(rows_), selected_attended_.data(), memory.rows, shared_,
                              output_.data());
  note_choices(layers_.size() - 1);
}

void LayerStack::backward(const float* flat, float* flat_gradients,
                          std::span<const float> d_balance_losses) {
  base::expects(keep_ == Keep::for_backward, "forward() did not keep what backward() needs");
  base::expects(d_balance_losses.empty() || balancing_ == LoadBalancing::compute,
                "gradients of losses that forward() computed");
  balance_gradient_ =
      d_balance_losses.empty() ? BalanceGradient{} : balance_.gradient(d_balance_losses);
  const auto tokens = sequences().tokens();
  d_attended_.reserve(tokens * config_->query_width());
  d_stream_.reserve(tokens * config_->hidden_size);
  run_last_layer_backward(flat, flat_gradients);
  for (std::size_t layer = layers_.size() - 1; layer-- > 0;) {
    auto& memory = memory_[layer];
    layers_[layer].rows.backward(flat, flat_gradients, tokens, memory.mixer.attended.data(),
                                 memory.rows, balance_gradient_, shared_, d_stream_.data(),
                                 d_attended_.data());
    layers_[layer].mixer.backward(flat, flat_gradients, sequences(), memory.input.data(),
                                  memory.mixer, d_attended_.data(), shared_, d_stream_.data());
  }
  embed_backward(flat_gradients);
  keep_ = Keep::nothing;
}

void LayerStack::run_last_layer_backward(const float* flat, float* flat_gradients) {
  auto& memory = memory_.back();
  const auto tokens = sequences().tokens();
  const auto width = config_->query_width();
  d_selected_attended_.reserve(count(rows_) * width);
  layers_.back().rows.backward(flat, flat_gradients, count(rows_), selected_attended_.data(),
                               memory.rows, balance_gradient_, shared_, d_output_.data(),
                               d_selected_attended_.data());
  scatter_rows(d_selected_attended_.data(), rows_, width, tokens, d_attended_.data());
  scatter_rows(d_output_.data(), rows_, config_->hidden_size, tokens, d_stream_.data());
  layers_.back().mixer.backward(flat, flat_gradients, sequences(), memory.input.data(),
                                memory.mixer, d_attended_.data(), shared_, d_stream_.data());
}

void LayerStack::embed_backward(float* flat_gradients) const {
  const auto hidden = config_->hidden_size;
  const float* from = d_stream_.data();
  for (const auto token : tokens_) {
    float* to = flat_gradients + embedding_ + token * hidden;
    for (std::int64_t i = 0; i < hidden; ++i) to[i] += from[i];
    from += hidden;
  }
}

}  // namespace physarum::model
