#include "row_transform.hpp"

#include <algorithm>

#include "kernels.hpp"

namespace physarum::model {

RowTransform::RowTransform(const ModelConfig& config, const LayerOffsets& at)
    : config_(&config),
      norm_(at.attention_norm),
      output_(config.query_width(), {{at.output, at.output_bias, config.hidden_size}}),
      gate_up_(config.hidden_size,
               {{at.gate, -1, config.intermediate_size}, {at.up, -1, config.intermediate_size}}),
      down_(config.intermediate_size, {{at.down, -1, config.hidden_size}}) {}

void RowTransform::forward(const float* flat, std::int64_t rows, const float* attended,
                           Memory& memory, SharedMemory& shared, float* y) {
  memory.inverse_rms.reserve(rows);
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
  const Matrix middle = dense(memory.middle.data() + first * hidden, rows, hidden);
  const Matrix gate_up =
      dense(memory.gate_up.data() + first * gate_up_.out(), rows, gate_up_.out());
  const Matrix normed = dense(shared.normed.data(), rows, hidden);
  const Matrix inner = dense(shared.inner.data(), rows, width);
  float* to = y + first * hidden;

  output_.forward(dense(attended + first * output_.in(), rows, output_.in()), middle, Update::add);
  kernels().rms_norm(middle.at, flat + norm_, static_cast<float>(config_->rms_norm_eps), rows,
                     hidden, normed.at, memory.inverse_rms.data() + first);
  gate_up_.forward(read(normed), gate_up, Update::replace);
  kernels().swiglu(gate_up.at, rows, width, inner.at);
  std::copy_n(middle.at, rows * hidden, to);
  down_.forward(read(inner), dense(to, rows, hidden), Update::add);
}

void RowTransform::backward(const float* flat, float* flat_gradients, std::int64_t rows,
                            const float* attended, Memory& memory, SharedMemory& shared, float* d,
                            float* d_attended) {
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
  const auto query_width = output_.in();
  float* stream = d + first * hidden;
  const ConstMatrix dy = read(dense(stream, rows, hidden));
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
  kernels().rms_norm_backward(d_normed.at, middle, flat + norm_, inverse_rms, rows, hidden, stream,
                              flat_gradients + norm_);
  output_.backward_weights(dy, dense(attended + first * query_width, rows, query_width),
                           flat_gradients, shared.workspace);
  output_.backward_input(dy, dense(d_attended + first * query_width, rows, query_width));
}

}  // namespace physarum::model
