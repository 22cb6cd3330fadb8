#include "score_head.hpp"

#include <algorithm>

#include "kernels.hpp"

namespace physarum::model {

namespace {
/// 16 MiB of logits may be kept from forward to backward.
constexpr std::int64_t most_kept_logits = std::int64_t{1} << 22;
/// 1 MiB of logits at a time otherwise.
constexpr std::int64_t chunk_logits = std::int64_t{1} << 18;
constexpr std::int64_t fewest_rows = 16;

std::span<const float> first_of(const AlignedBuffer& buffer, std::int64_t count) {
  return buffer.span().first(static_cast<std::size_t>(count));
}
}  // namespace

ScoreHead::ScoreHead(const ModelConfig& config, const ModelOffsets& at)
    : config_(&config),
      norm_(at.final_norm),
      head_(config.hidden_size, {{at.head, -1, config.vocab_size}}) {}

std::int64_t ScoreHead::chunk_rows(std::int64_t rows) const {
  if (rows * config_->vocab_size <= most_kept_logits) return rows;
  return std::min(rows, std::max(fewest_rows, chunk_logits / config_->vocab_size));
}

void ScoreHead::norm(const float* flat, const float* x, std::int64_t rows) {
  inverse_rms_.reserve(rows);
  normed_.reserve(rows * config_->hidden_size);
  kernels().rms_norm(x, flat + norm_, static_cast<float>(config_->rms_norm_eps), rows,
                     config_->hidden_size, normed_.data(), inverse_rms_.data());
}

void ScoreHead::project(const float* flat, std::int64_t first, std::int64_t rows) {
  const auto hidden = config_->hidden_size;
  head_.forward(flat, read(dense(normed_.data() + first * hidden, rows, hidden)),
                dense(logits_.data(), rows, config_->vocab_size), Into::replace);
}

TokenScores ScoreHead::forward(const float* flat, const float* x,
                               std::span<const base::TokenId> targets, double temperature,
                               Entropy entropy) {
  const auto rows = static_cast<std::int64_t>(targets.size());
  const auto chunk = chunk_rows(rows);
  inverse_temperature_ = static_cast<float>(1.0 / temperature);
  norm(flat, x, rows);
  logits_.reserve(chunk * config_->vocab_size);
  for (auto* buffer : {&log_sums_, &log_probs_, &entropies_}) buffer->reserve(rows);
  const bool with_entropy = entropy == Entropy::compute;
  for (std::int64_t first = 0; first < rows; first += chunk) {
    const auto count = std::min(chunk, rows - first);
    project(flat, first, count);
    kernels().token_scores(
        {count, config_->vocab_size, inverse_temperature_, targets.data() + first}, logits_.data(),
        log_probs_.data() + first, log_sums_.data() + first,
        with_entropy ? entropies_.data() + first : nullptr);
  }
  return {first_of(log_probs_, rows), first_of(entropies_, with_entropy ? rows : 0)};
}

void ScoreHead::backward(const float* flat, float* flat_gradients, const float* x,
                         std::span<const base::TokenId> targets, std::span<const float> d_log_probs,
                         std::span<const float> d_entropies, float* dx) {
  const auto rows = static_cast<std::int64_t>(targets.size());
  const auto hidden = config_->hidden_size;
  const auto chunk = chunk_rows(rows);
  d_normed_.reserve(rows * hidden);
  for (std::int64_t first = 0; first < rows; first += chunk) {
    const auto count = std::min(chunk, rows - first);
    if (chunk < rows) project(flat, first, count);  // else forward() left them
    kernels().token_scores_backward(
        {count, config_->vocab_size, inverse_temperature_, targets.data() + first},
        log_sums_.data() + first, d_log_probs.data() + first,
        d_entropies.empty() ? nullptr : d_entropies.data() + first, logits_.data());
    const auto d_logits = read(dense(logits_.data(), count, config_->vocab_size));
    head_.backward_weights(d_logits, read(dense(normed_.data() + first * hidden, count, hidden)),
                           flat_gradients);
    head_.backward_input(flat, d_logits, dense(d_normed_.data() + first * hidden, count, hidden));
  }
  std::fill_n(dx, rows * hidden, 0.0F);
  kernels().rms_norm_backward(d_normed_.data(), x, flat + norm_, inverse_rms_.data(), rows, hidden,
                              dx, flat_gradients + norm_);
}

void ScoreHead::logits(const float* flat, const float* x, std::int64_t rows, float* logits) {
  norm(flat, x, rows);
  head_.forward(flat, read(dense(normed_.data(), rows, config_->hidden_size)),
                dense(logits, rows, config_->vocab_size), Into::replace);
}

}  // namespace physarum::model
