#include "expert_feed_forward.hpp"

#include <algorithm>
#include <utility>

#include "physarum/base/contracts.hpp"

#include "kernels.hpp"

namespace physarum::model {

namespace {
void gather(const ExpertRouting& routing, std::span<const std::int64_t> choices, const float* from,
            std::int64_t width, float* to) {
  for (const auto choice : choices) {
    to = std::copy_n(from + routing.row_of(choice) * width, width, to);
  }
}

void add_scaled(const float* from, std::int64_t count, float factor, float* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] += factor * from[i];
}

void scale(float factor, std::int64_t count, float* values) {
  for (std::int64_t i = 0; i < count; ++i) values[i] *= factor;
}

/// In double: the result decides on one number for a whole row.
float dot(const float* a, const float* b, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  }
  return static_cast<float>(sum);
}

float weight_of(const ExpertRouting& routing, std::int64_t choice) {
  return routing.weights()[static_cast<std::size_t>(choice)];
}

void reserve_scratch(const ExpertConfig& experts, std::int64_t hidden, ExpertScratch& scratch) {
  scratch.inputs.reserve(chunk_rows * hidden);
  scratch.outputs.reserve(chunk_rows * hidden);
  scratch.inner.reserve(chunk_rows * experts.intermediate_size);
  scratch.d_inner.reserve(chunk_rows * experts.intermediate_size);
}
}  // namespace

ExpertFeedForward::ExpertFeedForward(const ModelConfig& config, const LayerOffsets& at)
    : experts_(config.experts),
      hidden_(config.hidden_size),
      at_(at.experts),
      router_(config.hidden_size, {{at.router, -1, config.experts.count}}) {}

template <class Body>
void ExpertFeedForward::for_each_chunk(const Memory& memory, std::int64_t expert, Body body) const {
  const auto choices = memory.routing.choices_of(expert);
  const auto count = static_cast<std::int64_t>(choices.size());
  for (std::int64_t first = 0; first < count; first += chunk_rows) {
    const auto rows = std::min(chunk_rows, count - first);
    body(Chunk{expert, memory.routing.start_of(expert) + first,
               choices.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(rows))});
  }
}

void ExpertFeedForward::forward(const float* flat, std::int64_t rows, const float* x,
                                Memory& memory, SharedMemory& shared, float* y) {
  auto& scratch = shared.experts;
  route(flat, rows, x, memory, shared);
  memory.gate_up.reserve(memory.routing.choices() * 2 * experts_.intermediate_size);
  reserve_scratch(experts_, hidden_, scratch);
  for (std::int64_t expert = 0; expert < experts_.count; ++expert) {
    if (memory.routing.choices_of(expert).empty()) continue;
    pack_for_forward(flat, expert, scratch);
    for_each_chunk(memory, expert,
                   [&](const Chunk& chunk) { forward_chunk(chunk, x, memory, scratch, y); });
  }
}

void ExpertFeedForward::route(const float* flat, std::int64_t rows, const float* x, Memory& memory,
                              SharedMemory& shared) {
  auto& logits = shared.experts.logits;
  logits.reserve(rows * experts_.count);
  router_.pack_for_forward(flat);
  router_.forward(dense(x, rows, hidden_), dense(logits.data(), rows, experts_.count),
                  Update::replace);
  if (memory.routing.experts() == 0) memory.routing = ExpertRouting(experts_);
  memory.routing.route(logits.data(), rows);
}

void ExpertFeedForward::pack_for_forward(const float* flat, std::int64_t expert,
                                         ExpertScratch& scratch) const {
  const auto width = experts_.intermediate_size;
  const auto& at = at_[static_cast<std::size_t>(expert)];
  if (scratch.gate_up.out() == 0) scratch.gate_up = PackedMatrix(2 * width, hidden_);
  if (scratch.down.out() == 0) scratch.down = PackedMatrix(hidden_, width);
  scratch.gate_up.pack(0, width, flat + at.gate, hidden_);
  scratch.gate_up.pack(width, width, flat + at.up, hidden_);
  scratch.down.pack(0, hidden_, flat + at.down, width);
}

void ExpertFeedForward::pack_for_backward(const float* flat, std::int64_t expert,
                                          ExpertScratch& scratch) const {
  const auto width = experts_.intermediate_size;
  const auto& at = at_[static_cast<std::size_t>(expert)];
  if (scratch.back_gate_up.out() == 0) scratch.back_gate_up = PackedMatrix(hidden_, 2 * width);
  if (scratch.back_down.out() == 0) scratch.back_down = PackedMatrix(width, hidden_);
  scratch.back_gate_up.pack_transposed(0, width, flat + at.gate, hidden_);
  scratch.back_gate_up.pack_transposed(width, width, flat + at.up, hidden_);
  scratch.back_down.pack_transposed(0, hidden_, flat + at.down, width);
}

void ExpertFeedForward::forward_chunk(const Chunk& chunk, const float* x, Memory& memory,
                                      ExpertScratch& scratch, float* y) const {
  const auto width = experts_.intermediate_size;
  float* gate_up = memory.gate_up.data() + chunk.first * 2 * width;
  gather(memory.routing, chunk.choices, x, hidden_, scratch.inputs.data());
  multiply_packed({scratch.inputs.data(), chunk.rows(), hidden_}, scratch.gate_up,
                  {gate_up, 2 * width});
  kernels().swiglu(gate_up, chunk.rows(), width, scratch.inner.data());
  multiply_packed({scratch.inner.data(), chunk.rows(), width}, scratch.down,
                  {scratch.outputs.data(), hidden_});
  const float* output = scratch.outputs.data();
  for (const auto choice : chunk.choices) {
    add_scaled(output, hidden_, weight_of(memory.routing, choice),
               y + memory.routing.row_of(choice) * hidden_);
    output += hidden_;
  }
}

void ExpertFeedForward::backward(const float* flat, float* flat_gradients, std::int64_t rows,
                                 const float* x, Memory& memory, const BalanceGradient& balance,
                                 const float* dy, SharedMemory& shared, float* dx) {
  base::expects(memory.routing.rows() == rows, "forward() kept its choices");
  auto& scratch = shared.experts;
  scratch.d_weights.reserve(memory.routing.choices());
  reserve_scratch(experts_, hidden_, scratch);
  std::fill_n(dx, rows * hidden_, 0.0F);
  for (std::int64_t expert = 0; expert < experts_.count; ++expert) {
    if (memory.routing.choices_of(expert).empty()) continue;
    pack_for_backward(flat, expert, scratch);
    for_each_chunk(memory, expert, [&](const Chunk& chunk) {
      backward_chunk(flat_gradients, chunk, x, memory, dy, shared, dx);
    });
  }
  router_backward(flat, flat_gradients, x, memory, balance, shared, dx);
}

/// With y = w f(x): dw = dy . f(x) = (dy down) . inner, so f(x) itself is not needed again.
void ExpertFeedForward::backward_chunk(float* flat_gradients, const Chunk& chunk, const float* x,
                                       Memory& memory, const float* dy, SharedMemory& shared,
                                       float* dx) const {
  auto& scratch = shared.experts;
  const auto width = experts_.intermediate_size;
  const auto rows = chunk.rows();
  const auto& at = at_[static_cast<std::size_t>(chunk.expert)];
  float* gate_up = memory.gate_up.data() + chunk.first * 2 * width;
  float* inner = scratch.inner.data();
  float* d_inner = scratch.d_inner.data();
  float* outputs = scratch.outputs.data();

  gather(memory.routing, chunk.choices, dy, hidden_, outputs);
  multiply_packed({outputs, rows, hidden_}, scratch.back_down, {d_inner, width});
  std::copy_n(d_inner, rows * width, inner);
  kernels().swiglu_backward(gate_up, rows, width, inner);  // inner holds its value now
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto choice = chunk.choices[static_cast<std::size_t>(i)];
    const float weight = weight_of(memory.routing, choice);
    scratch.d_weights.data()[choice] = dot(d_inner + i * width, inner + i * width, width);
    scale(weight, width, inner + i * width);
    scale(weight, 2 * width, gate_up + i * 2 * width);
  }
  multiply_general({hidden_, width, rows}, {outputs, 1, hidden_}, {inner, width, 1},
                   {flat_gradients + at.down, width}, Update::add, shared.workspace);
  gather(memory.routing, chunk.choices, x, hidden_, scratch.inputs.data());
  for (const auto& [part, gradient] : {std::pair{gate_up, at.gate}, {gate_up + width, at.up}}) {
    multiply_general({width, hidden_, rows}, {part, 1, 2 * width},
                     {scratch.inputs.data(), hidden_, 1}, {flat_gradients + gradient, hidden_},
                     Update::add, shared.workspace);
  }
  multiply_packed({gate_up, rows, 2 * width}, scratch.back_gate_up, {outputs, hidden_});
  for (const auto choice : chunk.choices) {
    add_scaled(outputs, hidden_, 1.0F, dx + memory.routing.row_of(choice) * hidden_);
    outputs += hidden_;
  }
}

void ExpertFeedForward::router_backward(const float* flat, float* flat_gradients, const float* x,
                                        const Memory& memory, const BalanceGradient& balance,
                                        SharedMemory& shared, float* dx) {
  auto& scratch = shared.experts;
  const auto rows = memory.routing.rows();
  const auto count = experts_.count;
  float* d_logits = scratch.logits.data();
  std::fill_n(d_logits, rows * count, 0.0F);
  for (std::size_t s = 0; s + 1 < balance.starts.size(); ++s) {
    for (auto row = balance.starts[s]; row < balance.starts[s + 1]; ++row) {
      std::copy_n(balance.d_probabilities + static_cast<std::int64_t>(s) * count, count,
                  d_logits + row * count);
    }
  }
  memory.routing.backward(
      scratch.d_weights.span().first(static_cast<std::size_t>(memory.routing.choices())), d_logits);
  router_.pack_for_backward(flat);
  router_.backward_weights(read(dense(d_logits, rows, count)), dense(x, rows, hidden_),
                           flat_gradients, shared.workspace);
  for (std::int64_t first = 0; first < rows; first += chunk_rows) {
    const auto chunk = std::min(chunk_rows, rows - first);
    router_.backward_input(read(dense(d_logits + first * count, chunk, count)),
                           dense(scratch.outputs.data(), chunk, hidden_));
    add_scaled(scratch.outputs.data(), chunk * hidden_, 1.0F, dx + first * hidden_);
  }
}

}  // namespace physarum::model
