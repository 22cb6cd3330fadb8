#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "physarum/base/philox.hpp"

#include "physarum/model/parameter_store.hpp"
#include "physarum/model/transformer.hpp"

namespace physarum::model {

/// sum of a_i * log_prob_i + b_i * entropy_i with fixed coefficients.
class ScalarLoss {
 public:
  ScalarLoss(const ModelConfig& config, ParameterStore& store, PackedBatch batch)
      : store_(store), transformer_(config, store), batch_(std::move(batch)) {
    for (std::int64_t i = 0; i < batch_.n_targets(); ++i) {
      d_log_probs_.push_back(0.5F - 0.2F * static_cast<float>(i % 6));
      d_entropies_.push_back(0.1F * static_cast<float>(i % 4));
    }
  }
  double value() {
    const auto scores = transformer_.forward(batch_, options(Keep::nothing));
    double sum = 0;
    for (std::size_t i = 0; i < d_log_probs_.size(); ++i) {
      sum += double{d_log_probs_[i]} * scores.log_probs[i] +
             double{d_entropies_[i]} * scores.entropies[i];
    }
    return sum;
  }
  void differentiate() {
    store_.zero_gradients();
    (void)transformer_.forward(batch_, options(Keep::for_backward));
    transformer_.backward(d_log_probs_, d_entropies_);
  }

 private:
  static ForwardOptions options(Keep keep) {
    return {.temperature = 1.3, .keep = keep, .entropy = Entropy::compute};
  }
  ParameterStore& store_;
  Transformer transformer_;
  PackedBatch batch_;
  std::vector<float> d_log_probs_;
  std::vector<float> d_entropies_;
};

/// Compares the gradients of loss.differentiate() with differences of loss.value().
inline void expect_gradients_of_differences(ParameterStore& store, ScalarLoss& loss) {
  loss.differentiate();
  const base::RandomStream stream(1, base::StreamKind::test);
  for (std::size_t i = 0; i < store.layout().tensors().size(); ++i) {
    // Along one random direction per tensor; a single element's difference drowns in rounding.
    const auto values = store.values(static_cast<std::int64_t>(i));
    const auto gradients = store.gradients(static_cast<std::int64_t>(i));
    const std::vector<float> original(values.begin(), values.end());
    std::vector<double> direction;
    double predicted = 0;
    for (std::size_t e = 0; e < values.size(); ++e) {
      direction.push_back(stream.normal(i, static_cast<std::uint32_t>(e)));
      predicted += direction[e] * double{gradients[e]};
    }
    const auto loss_at = [&](double step) {
      for (std::size_t e = 0; e < values.size(); ++e) {
        values[e] = static_cast<float>(double{original[e]} + step * direction[e]);
      }
      return loss.value();
    };
    const double step = 1e-3;
    const double measured = (loss_at(step) - loss_at(-step)) / (2 * step);
    std::ranges::copy(original, values.begin());
    EXPECT_NEAR(measured, predicted, 2e-2 * std::abs(predicted) + 2e-2)
        << store.layout().tensors()[i].name;
  }
}

}  // namespace physarum::model
