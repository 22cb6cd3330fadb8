#include "token_mixer.hpp"

namespace physarum::model {

namespace {
Projection qkv_projection(const ModelConfig& config, const LayerOffsets& at) {
  return {config.hidden_size,
          {{at.query, at.query_bias, config.query_width()},
           {at.key, at.key_bias, config.key_value_width()},
           {at.value, at.value_bias, config.key_value_width()}}};
}
}  // namespace

TokenMixer::TokenMixer(const ModelConfig& config, const LayerOffsets& at, std::int64_t window)
    : config_(&config),
      norm_(at.input_norm),
      window_(window),
      qkv_(qkv_projection(config, at)),
      head_norm_(config, at) {}

TokenMixer::Group TokenMixer::group_from(const Sequences& sequences, std::size_t first) {
  const auto begin = sequences.starts[first];
  auto last = first + 1;
  while (last + 1 < sequences.starts.size() && sequences.starts[last + 1] - begin <= chunk_rows) {
    ++last;
  }
  return {first, last, begin, sequences.starts[last] - begin};
}

AttentionShape TokenMixer::shape_of(const Sequences& sequences, std::size_t sequence) const {
  return {.tokens = sequences.starts[sequence + 1] - sequences.starts[sequence],
          .heads = config_->num_attention_heads,
          .key_value_heads = config_->num_key_value_heads,
          .head_dim = config_->head_dim,
          .cosines = sequences.rope->cosines().data(),
          .sines = sequences.rope->sines().data(),
          .window = window_};
}

void TokenMixer::forward(const float* flat, const Sequences& sequences, const float* x,
                         Memory& memory, SharedMemory& shared) {
  const auto tokens = sequences.tokens();
  memory.inverse_rms.reserve(tokens);
  memory.qkv.reserve(tokens * config_->attention_width());
  if (head_norm_.present()) memory.head_rms.reserve(tokens * head_norm_.heads());
  memory.log_sums.reserve(tokens * config_->num_attention_heads);
  memory.attended.reserve(tokens * config_->query_width());
  qkv_.pack_for_forward(flat);
  for (std::size_t s = 0; s + 1 < sequences.starts.size();) {
    const auto group = group_from(sequences, s);
    project(flat, group, x, memory, shared);
    const float* qkv = norm_heads(flat, group, memory, shared);
    for (; s < group.last; ++s) {
      const auto token = sequences.starts[s] - group.begin;
      attend(sequences, s, qkv + token * qkv_.out(), memory, shared);
    }
  }
}

const float* TokenMixer::norm_heads(const float* flat, const Group& group, Memory& memory,
                                    SharedMemory& shared) const {
  const float* qkv = memory.qkv.data() + group.begin * qkv_.out();
  if (!head_norm_.present()) return qkv;
  shared.normed_qkv.reserve(group.tokens * qkv_.out());
  head_norm_.forward(flat, group.tokens, qkv, shared.normed_qkv.data(),
                     memory.head_rms.data() + group.begin * head_norm_.heads());
  return shared.normed_qkv.data();
}

const float* TokenMixer::norm_heads_again(const float* flat, const Group& group,
                                          const Memory& memory, SharedMemory& shared) const {
  const float* qkv = memory.qkv.data() + group.begin * qkv_.out();
  if (!head_norm_.present()) return qkv;
  shared.normed_qkv.reserve(group.tokens * qkv_.out());
  head_norm_.again(flat, group.tokens, qkv,
                   memory.head_rms.data() + group.begin * head_norm_.heads(),
                   shared.normed_qkv.data());
  return shared.normed_qkv.data();
}

void TokenMixer::project(const float* flat, const Group& group, const float* x, Memory& memory,
                         SharedMemory& shared) const {
  const auto hidden = config_->hidden_size;
  shared.normed.reserve(group.tokens * hidden);
  const Matrix normed = dense(shared.normed.data(), group.tokens, hidden);
  kernels().rms_norm(x + group.begin * hidden, flat + norm_,
                     static_cast<float>(config_->rms_norm_eps), group.tokens, hidden, normed.at,
                     memory.inverse_rms.data() + group.begin);
  qkv_.forward(read(normed),
               dense(memory.qkv.data() + group.begin * qkv_.out(), group.tokens, qkv_.out()),
               Update::replace);
}

void TokenMixer::attend(const Sequences& sequences, std::size_t sequence, const float* qkv,
                        Memory& memory, SharedMemory& shared) const {
  const auto shape = shape_of(sequences, sequence);
  const auto begin = sequences.starts[sequence];
  shared.scratch.reserve(kernels().attention_scratch(shape));
  kernels().attention(shape, qkv, memory.attended.data() + begin * config_->query_width(),
                      memory.log_sums.data() + begin * shape.heads, shared.scratch.data());
}

void TokenMixer::backward(const float* flat, float* flat_gradients, const Sequences& sequences,
                          const float* x, const Memory& memory, const float* d_attended,
                          SharedMemory& shared, float* dx) {
  qkv_.pack_for_backward(flat);
  for (std::size_t s = 0; s + 1 < sequences.starts.size();) {
    const auto group = group_from(sequences, s);
    shared.d_qkv.reserve(group.tokens * qkv_.out());
    const float* qkv = norm_heads_again(flat, group, memory, shared);
    for (; s < group.last; ++s) {
      const auto token = sequences.starts[s] - group.begin;
      attend_backward(sequences, s, qkv + token * qkv_.out(), memory, d_attended, shared,
                      shared.d_qkv.data() + token * qkv_.out());
    }
    if (head_norm_.present()) {
      head_norm_.backward(
          flat, flat_gradients, group.tokens, memory.qkv.data() + group.begin * qkv_.out(),
          memory.head_rms.data() + group.begin * head_norm_.heads(), shared.d_qkv.data());
    }
    project_backward(flat, flat_gradients, group, x, memory, shared, dx);
  }
}

void TokenMixer::attend_backward(const Sequences& sequences, std::size_t sequence, const float* qkv,
                                 const Memory& memory, const float* d_attended,
                                 SharedMemory& shared, float* d_qkv) const {
  const auto shape = shape_of(sequences, sequence);
  const auto begin = sequences.starts[sequence];
  const auto query_at = begin * config_->query_width();
  kernels().attention_backward(shape, qkv, memory.attended.data() + query_at,
                               memory.log_sums.data() + begin * shape.heads, d_attended + query_at,
                               d_qkv, shared.scratch.data());
}

void TokenMixer::project_backward(const float* flat, float* flat_gradients, const Group& group,
                                  const float* x, const Memory& memory, SharedMemory& shared,
                                  float* dx) const {
  const auto hidden = config_->hidden_size;
  shared.normed.reserve(group.tokens * hidden);
  shared.d_normed.reserve(group.tokens * hidden);
  const ConstMatrix d_qkv = read(dense(shared.d_qkv.data(), group.tokens, qkv_.out()));
  const Matrix normed = dense(shared.normed.data(), group.tokens, hidden);
  const Matrix d_normed = dense(shared.d_normed.data(), group.tokens, hidden);
  const float* inputs = x + group.begin * hidden;
  const float* inverse_rms = memory.inverse_rms.data() + group.begin;
  kernels().rms_norm_again(inputs, flat + norm_, inverse_rms, group.tokens, hidden, normed.at);
  qkv_.backward_weights(d_qkv, read(normed), flat_gradients, shared.workspace);
  qkv_.backward_input(d_qkv, d_normed);
  kernels().rms_norm_backward(d_normed.at, inputs, flat + norm_, inverse_rms, group.tokens, hidden,
                              dx + group.begin * hidden, flat_gradients + norm_);
}

}  // namespace physarum::model
