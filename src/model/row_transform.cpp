#include "row_transform.hpp"

#include <algorithm>

namespace physarum::model {

RowTransform::RowTransform(const ModelConfig& config, const LayerOffsets& at)
    : config_(&config),
      norm_(at.attention_norm),
      output_(config.query_width(), {{at.output, at.output_bias, config.hidden_size}}),
      gate_up_(config.hidden_size,
               {{at.gate, -1, config.intermediate_size}, {at.up, -1, config.intermediate_size}}),
      down_(config.intermediate_size, {{at.down, -1, config.hidden_size}}) {}

void RowTransform::forward(const float* flat, std::int64_t rows, const float* attended,
                           Memory& memory, SharedMemory& shared, float* y) const {
  const auto hidden = config_->hidden_size;
  const auto width = config_->intermediate_size;
  memory.inverse_rms.reserve(rows);
  memory.gate_up.reserve(rows * 2 * width);
  shared.normed.reserve(rows * hidden);
  shared.inner.reserve(rows * width);
  const Matrix middle = dense(memory.middle.data(), rows, hidden);
  const Matrix normed = dense(shared.normed.data(), rows, hidden);
  const Matrix inner = dense(shared.inner.data(), rows, width);
  output_.forward(flat, dense(attended, rows, output_.in()), middle, Into::add);
  kernels().rms_norm(middle.at, flat + norm_, static_cast<float>(config_->rms_norm_eps), rows,
                     hidden, normed.at, memory.inverse_rms.data());
  gate_up_.forward(flat, read(normed), dense(memory.gate_up.data(), rows, 2 * width),
                   Into::replace);
  kernels().swiglu(memory.gate_up.data(), rows, width, inner.at);
  std::copy_n(middle.at, rows * hidden, y);
  down_.forward(flat, read(inner), dense(y, rows, hidden), Into::add);
}

void RowTransform::backward(const float* flat, float* flat_gradients, std::int64_t rows,
                            const float* attended, Memory& memory, SharedMemory& shared, float* d,
                            float* d_attended) const {
  const auto hidden = config_->hidden_size;
  const auto width = config_->intermediate_size;
  shared.d_normed.reserve(rows * hidden);
  const ConstMatrix dy = read(dense(d, rows, hidden));
  const Matrix gate_up = dense(memory.gate_up.data(), rows, 2 * width);
  const Matrix inner = dense(shared.inner.data(), rows, width);
  const Matrix normed = dense(shared.normed.data(), rows, hidden);
  const Matrix d_normed = dense(shared.d_normed.data(), rows, hidden);
  const float* middle = memory.middle.data();

  down_.backward_input(flat, dy, inner);
  kernels().swiglu_backward(gate_up.at, rows, width, inner.at);
  down_.backward_weights(dy, read(inner), flat_gradients);
  kernels().rms_norm_again(middle, flat + norm_, memory.inverse_rms.data(), rows, hidden,
                           normed.at);
  gate_up_.backward_weights(read(gate_up), read(normed), flat_gradients);
  gate_up_.backward_input(flat, read(gate_up), d_normed);
  kernels().rms_norm_backward(d_normed.at, middle, flat + norm_, memory.inverse_rms.data(), rows,
                              hidden, d, flat_gradients + norm_);
  output_.backward_weights(dy, dense(attended, rows, output_.in()), flat_gradients);
  output_.backward_input(flat, dy, dense(d_attended, rows, output_.in()));
}

}  // namespace physarum::model
