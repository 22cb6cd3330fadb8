#include "expert_decoder.hpp"

#include <algorithm>

#include "physarum/model/decode_kernels.hpp"

#include "team_product.hpp"

namespace physarum::rollout {

namespace {
/// Rows that pass an expert together, as those that pass a dense feed-forward part.
constexpr std::int64_t expert_rows = 96;
}  // namespace

ExpertDecoder::ExpertDecoder(const model::ModelConfig& config)
    : hidden_(config.hidden_size), inner_width_(config.experts.intermediate_size) {
  if (!config.has_experts()) return;
  routing_ = model::ExpertRouting(config.experts);
  inputs_.reserve(expert_rows * hidden_);
  outputs_.reserve(expert_rows * hidden_);
  gate_up_.reserve(expert_rows * 2 * inner_width_);
  inner_.reserve(expert_rows * inner_width_);
}

void ExpertDecoder::add(base::ThreadTeam& team, const LayerWeights& layer, std::int64_t count,
                        const float* normed, float* residual) {
  const auto experts = layer.router.out();
  logits_.reserve(count * experts);
  multiply_together(team, {normed, count, hidden_}, layer.router, {logits_.data(), experts});
  routing_.route(logits_.data(), count);
  for (std::int64_t e = 0; e < experts; ++e) {
    auto choices = routing_.choices_of(e);
    while (!choices.empty()) {
      const auto some = std::min(choices.size(), static_cast<std::size_t>(expert_rows));
      add_some(team, layer.experts[static_cast<std::size_t>(e)], choices.first(some), normed,
               residual);
      choices = choices.subspan(some);
    }
  }
}

void ExpertDecoder::add_some(base::ThreadTeam& team, const ExpertWeights& expert,
                             std::span<const std::int64_t> choices, const float* normed,
                             float* residual) {
  const auto rows = static_cast<std::int64_t>(choices.size());
  float* input = inputs_.data();
  for (const auto choice : choices) {
    input = std::copy_n(normed + routing_.row_of(choice) * hidden_, hidden_, input);
  }
  multiply_together(team, {inputs_.data(), rows, hidden_}, expert.gate_up,
                    {gate_up_.data(), 2 * inner_width_});
  model::decode_kernels().swiglu(gate_up_.data(), rows, inner_width_, inner_.data());
  multiply_together(team, {inner_.data(), rows, inner_width_}, expert.down,
                    {outputs_.data(), hidden_});
  const float* output = outputs_.data();
  for (const auto choice : choices) {
    const float weight = routing_.weights()[static_cast<std::size_t>(choice)];
    float* to = residual + routing_.row_of(choice) * hidden_;
    for (std::int64_t i = 0; i < hidden_; ++i) to[i] += weight * output[i];
    output += hidden_;
  }
}

}  // namespace physarum::rollout
