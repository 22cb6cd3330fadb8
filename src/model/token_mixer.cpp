#include "token_mixer.hpp"

#include <algorithm>

namespace physarum::model {

namespace {
Projection qkv_projection(const ModelConfig& config, const LayerOffsets& at) {
  return {config.hidden_size,
          {{at.query, at.query_bias, config.query_width()},
           {at.key, at.key_bias, config.key_value_width()},
           {at.value, at.value_bias, config.key_value_width()}}};
}
}  // namespace

TokenMixer::TokenMixer(const ModelConfig& config, const LayerOffsets& at)
    : config_(&config), norm_(at.input_norm), qkv_(qkv_projection(config, at)) {}

AttentionShape TokenMixer::shape_of(const Sequences& sequences, std::size_t sequence) const {
  return {.tokens = sequences.starts[sequence + 1] - sequences.starts[sequence],
          .heads = config_->num_attention_heads,
          .key_value_heads = config_->num_key_value_heads,
          .head_dim = config_->head_dim,
          .cosines = sequences.rope->cosines().data(),
          .sines = sequences.rope->sines().data()};
}

void TokenMixer::forward(const float* flat, const Sequences& sequences, const float* x,
                         Memory& memory, SharedMemory& shared) const {
  const auto tokens = sequences.tokens();
  const auto hidden = config_->hidden_size;
  memory.inverse_rms.reserve(tokens);
  memory.qkv.reserve(tokens * config_->attention_width());
  shared.normed.reserve(tokens * hidden);
  kernels().rms_norm(x, flat + norm_, static_cast<float>(config_->rms_norm_eps), tokens, hidden,
                     shared.normed.data(), memory.inverse_rms.data());
  qkv_.forward(flat, read(dense(shared.normed.data(), tokens, hidden)),
               dense(memory.qkv.data(), tokens, qkv_.out()), Into::replace);
  attend(sequences, memory, shared);
}

void TokenMixer::attend(const Sequences& sequences, Memory& memory, SharedMemory& shared) const {
  memory.log_sums.reserve(sequences.tokens() * config_->num_attention_heads);
  memory.attended.reserve(sequences.tokens() * config_->query_width());
  for (std::size_t s = 0; s + 1 < sequences.starts.size(); ++s) {
    const auto shape = shape_of(sequences, s);
    const auto first = sequences.starts[s];
    shared.scratch.reserve(kernels().attention_scratch(shape));
    kernels().attention(shape, memory.qkv.data() + first * shape.row_width(),
                        memory.attended.data() + first * config_->query_width(),
                        memory.log_sums.data() + first * shape.heads, shared.scratch.data());
  }
}

void TokenMixer::attend_backward(const Sequences& sequences, const Memory& memory,
                                 SharedMemory& shared) const {
  shared.d_qkv.reserve(sequences.tokens() * config_->attention_width());
  for (std::size_t s = 0; s + 1 < sequences.starts.size(); ++s) {
    const auto shape = shape_of(sequences, s);
    const auto first = sequences.starts[s];
    const auto query_at = first * config_->query_width();
    kernels().attention_backward(
        shape, memory.qkv.data() + first * shape.row_width(), memory.attended.data() + query_at,
        memory.log_sums.data() + first * shape.heads, shared.d_attended.data() + query_at,
        shared.d_qkv.data() + first * shape.row_width(), shared.scratch.data());
  }
}

void TokenMixer::backward(const float* flat, float* flat_gradients, const Sequences& sequences,
                          const float* x, const Memory& memory, SharedMemory& shared,
                          float* dx) const {
  const auto tokens = sequences.tokens();
  const auto hidden = config_->hidden_size;
  attend_backward(sequences, memory, shared);
  shared.d_normed.reserve(tokens * hidden);
  const ConstMatrix d_qkv = read(dense(shared.d_qkv.data(), tokens, qkv_.out()));
  const Matrix normed = dense(shared.normed.data(), tokens, hidden);
  const Matrix d_normed = dense(shared.d_normed.data(), tokens, hidden);
  kernels().rms_norm_again(x, flat + norm_, memory.inverse_rms.data(), tokens, hidden, normed.at);
  qkv_.backward_weights(d_qkv, read(normed), flat_gradients);
  qkv_.backward_input(flat, d_qkv, d_normed);
  kernels().rms_norm_backward(d_normed.at, x, flat + norm_, memory.inverse_rms.data(), tokens,
                              hidden, dx, flat_gradients + norm_);
}

}  // namespace physarum::model
