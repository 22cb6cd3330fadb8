#include "score_head.hpp"

#include <algorithm>

#include "kernels.hpp"

namespace physarum::model {

namespace {
/// 16 MiB of logits may be kept from forward to backward.
constexpr std::int64_t most_kept_logits = std::int64_t{1} << 22;
/// About 1 MiB of logits at a time.
constexpr std::int64_t chunk_logits = std::int64_t{1} << 18;
constexpr std::int64_t fewest_rows = 18;

std::span<const float> first_of(const AlignedBuffer& buffer, std::int64_t count) {
  return buffer.span().first(static_cast<std::size_t>(count));
}
}  // namespace

ScoreHead::ScoreHead(const ModelConfig& config, const ModelOffsets& at)
    : config_(&config),
      norm_(at.final_norm),
      head_(config.hidden_size, {{at.head, -1, config.vocab_size}}) {}

void ScoreHead::plan(std::int64_t rows) {
  kept_ = rows * config_->vocab_size <= most_kept_logits;
  chunk_ = std::clamp(chunk_logits / config_->vocab_size, fewest_rows, chunk_rows);
  logits_.reserve((kept_ ? rows : chunk_) * config_->vocab_size);
}

Matrix ScoreHead::logits_at(std::int64_t first, std::int64_t rows) {
  const auto row = kept_ ? first : 0;
  return dense(logits_.data() + row * config_->vocab_size, rows, config_->vocab_size);
}

void ScoreHead::norm(const float* flat, const float* x, std::int64_t rows) {
  inverse_rms_.reserve(rows);
  normed_.reserve(rows * config_->hidden_size);
  kernels().rms_norm(x, flat + norm_, static_cast<float>(config_->rms_norm_eps), rows,
                     config_->hidden_size, normed_.data(), inverse_rms_.data());
}

void ScoreHead::project(std::int64_t first, Matrix logits) const {
  const auto hidden = config_->hidden_size;
  head_.forward(dense(normed_.data() + first * hidden, logits.rows, hidden), logits,
                Update::replace);
}

TokenScores ScoreHead::forward(const float* flat, const float* x, const ScoreTargets& targets,
                               double temperature, Entropy entropy) {
  const std::int64_t rows = targets.size();
  const bool with_entropy = entropy == Entropy::compute;
  inverse_temperature_ = static_cast<float>(1.0 / temperature);
  plan(rows);
  norm(flat, x, rows);
  for (auto* buffer : {&log_sums_, &log_probs_, &entropies_}) buffer->reserve(rows);
  head_.pack_for_forward(flat);
  for (std::int64_t first = 0; first < rows; first += chunk_) {
    const Matrix logits = logits_at(first, std::min(chunk_, rows - first));
    project(first, logits);
    scores_.forward(targets, first, logits, inverse_temperature_,
                    {log_probs_.data() + first, log_sums_.data() + first,
                     with_entropy ? entropies_.data() + first : nullptr});
  }
  return {first_of(log_probs_, rows), first_of(entropies_, with_entropy ? rows : 0)};
}

void ScoreHead::backward(const float* flat, float* flat_gradients, const float* x,
                         const ScoreTargets& targets, std::span<const float> d_log_probs,
                         std::span<const float> d_entropies, float* dx) {
  const std::int64_t rows = targets.size();
  const auto hidden = config_->hidden_size;
  d_normed_.reserve(chunk_ * hidden);
  std::fill_n(dx, rows * hidden, 0.0F);
  head_.pack_for_backward(flat);
  for (std::int64_t first = 0; first < rows; first += chunk_) {
    const Matrix logits = logits_at(first, std::min(chunk_, rows - first));
    if (!kept_) project(first, logits);
    scores_.backward(targets, first, inverse_temperature_,
                     {d_log_probs.data() + first, log_sums_.data() + first,
                      d_entropies.empty() ? nullptr : d_entropies.data() + first},
                     logits);
    head_.backward_weights(read(logits),
                           read(dense(normed_.data() + first * hidden, logits.rows, hidden)),
                           flat_gradients, workspace_);
    head_.backward_input(read(logits), dense(d_normed_.data(), logits.rows, hidden));
    kernels().rms_norm_backward(d_normed_.data(), x + first * hidden, flat + norm_,
                                inverse_rms_.data() + first, logits.rows, hidden,
                                dx + first * hidden, flat_gradients + norm_);
  }
}

void ScoreHead::logits(const float* flat, const float* x, std::int64_t rows, float* logits) {
  norm(flat, x, rows);
  head_.pack_for_forward(flat);
  project(0, dense(logits, rows, config_->vocab_size));
}

}  // namespace physarum::model
