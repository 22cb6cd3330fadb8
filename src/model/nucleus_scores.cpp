#include "nucleus_scores.hpp"

#include <algorithm>

#include "kernels.hpp"

namespace physarum::model {

namespace {
/// Calls `whole(row, count)` for rows that count all tokens and `cut(row, nucleus)` for each other.
template <class Whole, class Cut>
void for_rows(const ScoreTargets& targets, std::int64_t first, std::int64_t rows, Whole&& whole,
              Cut&& cut) {
  for (std::int64_t row = 0; row < rows;) {
    const auto nucleus = targets.nuclei.at(first + row);
    if (!nucleus.empty()) {
      cut(row++, nucleus);
      continue;
    }
    const std::int64_t begin = row;
    while (row < rows && targets.nuclei.at(first + row).empty()) ++row;
    whole(begin, row - begin);
  }
}

std::int32_t place_of(base::TokenId token, std::span<const base::TokenId> nucleus) {
  return static_cast<std::int32_t>(std::ranges::lower_bound(nucleus, token) - nucleus.begin());
}

const base::TokenId* targets_from(const ScoreTargets& targets, std::int64_t row) {
  return targets.tokens.data() + row;
}

float* or_null(float* values, std::int64_t row) {
  return values == nullptr ? values : values + row;
}
const float* or_null(const float* values, std::int64_t row) {
  return values == nullptr ? values : values + row;
}
}  // namespace

float* NucleusScores::gather(const float* row, std::span<const base::TokenId> nucleus) {
  gathered_.resize(std::max(gathered_.size(), nucleus.size()));
  std::ranges::transform(nucleus, gathered_.begin(), [row](base::TokenId id) { return row[id]; });
  return gathered_.data();
}

void NucleusScores::forward(const ScoreTargets& targets, std::int64_t first, Matrix logits,
                            float inverse_temperature, const Scores& scores) {
  const auto score = [&](std::int64_t row, const ScoreShape& shape, const float* values) {
    kernels().token_scores(shape, values, scores.log_probs + row, scores.log_sums + row,
                           or_null(scores.entropies, row));
  };
  for_rows(
      targets, first, logits.rows,
      [&](std::int64_t row, std::int64_t count) {
        score(row, {count, logits.columns, inverse_temperature, targets_from(targets, first + row)},
              logits.at + row * logits.columns);
      },
      [&](std::int64_t row, std::span<const base::TokenId> nucleus) {
        const std::int32_t target = place_of(*targets_from(targets, first + row), nucleus);
        score(row, {1, std::ssize(nucleus), inverse_temperature, &target},
              gather(logits.at + row * logits.columns, nucleus));
      });
}

void NucleusScores::backward(const ScoreTargets& targets, std::int64_t first,
                             float inverse_temperature, const Gradients& gradients, Matrix logits) {
  const auto differentiate = [&](std::int64_t row, const ScoreShape& shape, float* values) {
    kernels().token_scores_backward(shape, gradients.log_sums + row, gradients.log_probs + row,
                                    or_null(gradients.entropies, row), values);
  };
  for_rows(
      targets, first, logits.rows,
      [&](std::int64_t row, std::int64_t count) {
        differentiate(
            row, {count, logits.columns, inverse_temperature, targets_from(targets, first + row)},
            logits.at + row * logits.columns);
      },
      [&](std::int64_t row, std::span<const base::TokenId> nucleus) {
        const std::int32_t target = place_of(*targets_from(targets, first + row), nucleus);
        float* whole = logits.at + row * logits.columns;
        float* few = gather(whole, nucleus);
        differentiate(row, {1, std::ssize(nucleus), inverse_temperature, &target}, few);
        std::fill_n(whole, logits.columns, 0.0F);
        for (const auto id : nucleus) whole[id] = *few++;
      });
}

}  // namespace physarum::model
