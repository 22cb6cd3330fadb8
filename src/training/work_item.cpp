#include "work_item.hpp"

#include <algorithm>
#include <utility>

#include "physarum/base/contracts.hpp"

namespace physarum::training {
namespace {

/// One past the last trained token of the response.
std::int64_t trained_end(const sample::Sample& sample) {
  const auto last = std::find(sample.mask.rbegin(), sample.mask.rend(), std::uint8_t{1});
  return static_cast<std::int64_t>(sample.mask.rend() - last);
}

Part part_of(double advantage, const LossOptions& options) {
  const bool has_gradient = options.type == LossType::sft_loss || advantage != 0 ||
                            options.entropy_coef != 0 || options.moe_aux_loss_coeff != 0 ||
                            (options.use_kl_loss && options.kl_loss_coef != 0);
  return has_gradient ? Part::learnt : Part::observed;
}

}  // namespace

void WorkItem::append(const sample::Sample& sample, double advantage, double token_weight) {
  const std::int64_t response = trained_end(sample);
  base::expects(response > 0, "a sample without trained tokens is no work");
  const std::int64_t start = packed.n_tokens();
  const auto length = static_cast<std::size_t>(sample.prompt_tokens + response);
  // What follows the last trained token changes no score: the model need not see it.
  if (!sample.nuclei.empty()) packed.nuclei.pad(packed.n_targets());
  packed.append(std::span(sample.tokens).first(length), static_cast<std::int64_t>(length));
  for (std::size_t i = 0; i < static_cast<std::size_t>(response); ++i) {
    if (sample.mask[i] == 0) continue;
    packed.targets.push_back(start + sample.prompt_tokens + static_cast<std::int64_t>(i));
    if (!sample.nuclei.empty()) {
      packed.nuclei.push(sample.nuclei.at(static_cast<std::int64_t>(i)));
    }
    if (!sample.log_probs.empty()) rollout_log_probs.push_back(sample.log_probs[i]);
  }
  sample_starts.push_back(packed.n_targets());
  advantages.push_back(advantage);
  token_weights.push_back(token_weight);
}

std::vector<WorkItem> make_work(const sample::Batch& batch, std::int64_t optimiser_step,
                                std::span<const double> advantages,
                                std::span<const double> token_weights, const LossOptions& options) {
  std::vector<WorkItem> work;
  const auto& mine = batch.plan.micro_batches.at(static_cast<std::size_t>(optimiser_step))
                         .at(static_cast<std::size_t>(batch.dp_rank));
  for (const auto& micro_batch : mine) {
    WorkItem learnt;
    WorkItem observed;
    observed.part = Part::observed;
    for (const std::int64_t index : micro_batch) {
      const auto i = static_cast<std::size_t>(index);
      if (batch.plan.samples[i].trained_tokens == 0) continue;
      const Part part = part_of(advantages[i], options);
      WorkItem& item = part == Part::learnt ? learnt : observed;
      item.append(batch.sample(index), advantages[i], token_weights[i]);
    }
    if (learnt.n_samples() > 0) work.push_back(std::move(learnt));
    if (observed.n_samples() > 0) work.push_back(std::move(observed));
  }
  return work;
}

}  // namespace physarum::training
