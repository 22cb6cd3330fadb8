#include "row_transform.hpp"

#include <algorithm>

#include "kernels.hpp"

namespace physarum::model {

RowTransform::RowTransform(const ModelConfig& config, const LayerOffsets& at)
    : config_(&config),
      norm_(at.attention_norm),
      output_(config.query_width(), {{at.output, at.output_bias, config.hidden_size}}),
      gate_up_(config.hidden_size, {{at.gate, at.gate_bias, config.intermediate_size},
                                    {at.up, at.up_bias, config.intermediate_size}}),
      down_(config.intermediate_size, {{at.down, at.down_bias, config.hidden_size}}) {
  if (!at.experts.empty()) experts_.emplace(config, at);
}

void RowTransform::forward(const float* flat, std::int64_t rows, const float* attended,
                           Memory& memory, SharedMemory& shared, float* y) {
  memory.inverse_rms.reserve(rows);
  if (experts_) return forward_experts(flat, rows, attended, memory, shared, y);
  memory.gate_up.reserve(rows * gate_up_.out());
  shared.normed.reserve(chunk_rows * config_->hidden_size);
  shared.inner.reserve(chunk_rows * config_->intermediate_size);
  for (auto* projection : {&output_, &gate_up_, &down_}) projection->pack_for_forward(flat);
  for (std::int64_t first = 0; first < rows; first += chunk_rows) {
    forward_chunk(flat, {first, std::min(chunk_rows, rows - first)}, attended, memory, shared, y);
  }
}

void RowTransform::forward_chunk(const float* flat, const Chunk& chunk, const float* attended,
                                 Memory& memory, SharedMemory& shared, float* y) const {
  const auto hidden = config_->hidden_size;
  const auto width = config_->intermediate_size;
  const auto [first, rows] = chunk;
  const Matrix gate_up =
      dense(memory.gate_up.data() + first * gate_up_.out(), rows, gate_up_.out());
  const Matrix normed = dense(shared.normed.data(), rows, hidden);
  const Matrix inner = dense(shared.inner.data(), rows, width);
  float* to = y + first * hidden;

  add_attention(flat, chunk, attended, memory, normed.at);
  gate_up_.forward(read(normed), gate_up, Update::replace);
  kernels().swiglu(gate_up.at, rows, width, inner.at);
  std::copy_n(memory.middle.data() + first * hidden, rows * hidden, to);
  down_.forward(read(inner), dense(to, rows, hidden), Update::add);
}

void RowTransform::add_attention(const float* flat, const Chunk& chunk, const float* attended,
                                 Memory& memory, float* normed) const {
  const auto hidden = config_->hidden_size;
  const auto [first, rows] = chunk;
  const Matrix middle = dense(memory.middle.data() + first * hidden, rows, hidden);
  output_.forward(dense(attended + first * output_.in(), rows, output_.in()), middle, Update::add);
  kernels().rms_norm(middle.at, flat + norm_, static_cast<float>(config_->rms_norm_eps), rows,
                     hidden, normed, memory.inverse_rms.data() + first);
}

/// An expert's rows come from anywhere, so that all norms are there before the first expert.
void RowTransform::forward_experts(const float* flat, std::int64_t rows, const float* attended,
                                   Memory& memory, SharedMemory& shared, float* y) {
  const auto hidden = config_->hidden_size;
  auto& normed = shared.experts.normed;
  normed.reserve(rows * hidden);
  output_.pack_for_forward(flat);
  for (std::int64_t first = 0; first < rows; first += chunk_rows) {
    add_attention(flat, {first, std::min(chunk_rows, rows - first)}, attended, memory,
                  normed.data() + first * hidden);
  }
  std::copy_n(memory.middle.data(), rows * hidden, y);
  experts_->forward(flat, rows, normed.data(), memory.experts, shared, y);
}

void RowTransform::backward(const float* flat, float* flat_gradients, std::int64_t rows,
                            const float* attended, Memory& memory, const BalanceGradient& balance,
                            SharedMemory& shared, float* d, float* d_attended) {
  if (experts_) {
    return backward_experts(flat, flat_gradients, rows, attended, memory, balance, shared, d,
                            d_attended);
  }
  shared.normed.reserve(chunk_rows * config_->hidden_size);
  shared.d_normed.reserve(chunk_rows * config_->hidden_size);
  shared.inner.reserve(chunk_rows * config_->intermediate_size);
  for (auto* projection : {&output_, &gate_up_, &down_}) projection->pack_for_backward(flat);
  for (std::int64_t first = 0; first < rows; first += chunk_rows) {
    backward_chunk(flat, flat_gradients, {first, std::min(chunk_rows, rows - first)}, attended,
                   memory, shared, d, d_attended);
  }
}

void RowTransform::backward_chunk(const float* flat, float* flat_gradients, const Chunk& chunk,
                                  const float* attended, Memory& memory, SharedMemory& shared,
                                  float* d, float* d_attended) const {
  const auto hidden = config_->hidden_size;
  const auto [first, rows] = chunk;
  const ConstMatrix dy = read(dense(d + first * hidden, rows, hidden));
  const Matrix gate_up =
      dense(memory.gate_up.data() + first * gate_up_.out(), rows, gate_up_.out());
  const Matrix inner = dense(shared.inner.data(), rows, down_.in());
  const Matrix normed = dense(shared.normed.data(), rows, hidden);
  const Matrix d_normed = dense(shared.d_normed.data(), rows, hidden);
  const float* middle = memory.middle.data() + first * hidden;
  const float* inverse_rms = memory.inverse_rms.data() + first;

  down_.backward_input(dy, inner);
  kernels().swiglu_backward(gate_up.at, rows, down_.in(), inner.at);
  down_.backward_weights(dy, read(inner), flat_gradients, shared.workspace);
  kernels().rms_norm_again(middle, flat + norm_, inverse_rms, rows, hidden, normed.at);
  gate_up_.backward_weights(read(gate_up), read(normed), flat_gradients, shared.workspace);
  gate_up_.backward_input(read(gate_up), d_normed);
  attention_backward(flat, flat_gradients, chunk, attended, memory, d_normed.at, shared, d,
                     d_attended);
}

void RowTransform::attention_backward(const float* flat, float* flat_gradients, const Chunk& chunk,
                                      const float* attended, const Memory& memory,
                                      const float* d_normed, SharedMemory& shared, float* d,
                                      float* d_attended) const {
  const auto hidden = config_->hidden_size;
  const auto query_width = output_.in();
  const auto [first, rows] = chunk;
  float* stream = d + first * hidden;
  const ConstMatrix dy = read(dense(stream, rows, hidden));
  kernels().rms_norm_backward(d_normed, memory.middle.data() + first * hidden, flat + norm_,
                              memory.inverse_rms.data() + first, rows, hidden, stream,
                              flat_gradients + norm_);
  output_.backward_weights(dy, dense(attended + first * query_width, rows, query_width),
                           flat_gradients, shared.workspace);
  output_.backward_input(dy, dense(d_attended + first * query_width, rows, query_width));
}

void RowTransform::backward_experts(const float* flat, float* flat_gradients, std::int64_t rows,
                                    const float* attended, Memory& memory,
                                    const BalanceGradient& balance, SharedMemory& shared, float* d,
                                    float* d_attended) {
  const auto hidden = config_->hidden_size;
  auto& scratch = shared.experts;
  scratch.normed.reserve(rows * hidden);
  scratch.d_normed.reserve(rows * hidden);
  output_.pack_for_backward(flat);
  kernels().rms_norm_again(memory.middle.data(), flat + norm_, memory.inverse_rms.data(), rows,
                           hidden, scratch.normed.data());
  experts_->backward(flat, flat_gradients, rows, scratch.normed.data(), memory.experts, balance, d,
                     shared, scratch.d_normed.data());
  for (std::int64_t first = 0; first < rows; first += chunk_rows) {
    attention_backward(flat, flat_gradients, {first, std::min(chunk_rows, rows - first)}, attended,
                       memory, scratch.d_normed.data() + first * hidden, shared, d, d_attended);
  }
}

}  // namespace physarum::model
