#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "physarum/model/config.hpp"

namespace physarum::model {

/// Which experts rows go to, and with what weight. A row's choice depends on its logits alone. Uses
/// its memory again: takes none once it has seen as many rows.
class ExpertRouting {
 public:
  ExpertRouting() = default;
  explicit ExpertRouting(const ExpertConfig& experts);

  /// `logits` [rows, count] of the router. Each row goes to the `per_token` experts that are
  /// likeliest under softmax(logits), the lower number of equals. Their weights are these
  /// probabilities, divided by their sum if the model normalises them.
  void route(const float* logits, std::int64_t rows);

  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t experts() const { return experts_; }
  /// softmax(logits), [rows, count].
  [[nodiscard]] std::span<const float> probabilities() const { return probabilities_; }
  /// Choices: the i-th is one of row i / per_token, whose likeliest expert comes first.
  [[nodiscard]] std::int64_t choices() const { return rows_ * per_token_; }
  [[nodiscard]] std::int64_t row_of(std::int64_t choice) const { return choice / per_token_; }
  [[nodiscard]] std::span<const std::int32_t> chosen() const { return chosen_; }
  [[nodiscard]] std::span<const float> weights() const { return weights_; }
  /// The choices that fell on an expert, rising; the experts' lists lie behind one another.
  [[nodiscard]] std::span<const std::int64_t> choices_of(std::int64_t expert) const;
  /// Where an expert's list starts if all lists are one.
  [[nodiscard]] std::int64_t start_of(std::int64_t expert) const {
    return starts_[static_cast<std::size_t>(expert)];
  }

  /// The way back. `d_weights`, one for each choice. `d` [rows, count] holds further gradients of
  /// the probabilities on entry, the gradients of the logits on return.
  void backward(std::span<const float> d_weights, float* d) const;

 private:
  void choose(std::int64_t row);
  void sort_by_expert();
  std::int64_t experts_ = 0;
  std::int64_t per_token_ = 0;
  bool normalise_ = false;
  std::int64_t rows_ = 0;
  std::vector<float> probabilities_;
  std::vector<std::int32_t> chosen_;
  std::vector<float> weights_;
  std::vector<std::int64_t> starts_;   ///< [count + 1]
  std::vector<std::int64_t> choices_;  ///< by expert
  std::vector<bool> taken_;            ///< [count], of one row
};

}  // namespace physarum::model
