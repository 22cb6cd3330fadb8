#include "training/synthetic.hpp"

#include <utility>

#include "physarum/base/philox.hpp"

#include "physarum/model/parameter_layout.hpp"
#include "physarum/model/parameter_store.hpp"

namespace physarum::training::test {
namespace {

using sample::Sample;

/// Draws for one sample, one after the other.
class Draws {
 public:
  Draws(std::uint64_t seed, std::int64_t id)
      : stream_(seed, base::StreamKind::test), item_(static_cast<std::uint64_t>(id)) {}
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(
        stream_.below(static_cast<std::uint64_t>(bound), item_, position_++));
  }
  double uniform() { return stream_.uniform(item_, position_++); }

 private:
  base::RandomStream stream_;
  std::uint64_t item_;
  std::uint32_t position_ = 0;
};

Sample make_sample(std::uint64_t seed, std::int64_t id, std::int64_t group_size) {
  Draws draws(seed, id);
  Sample sample;
  sample.id = base::SampleId(id);
  sample.group = base::GroupId(id / group_size);
  sample.prompt_tokens = 2 + draws.below(4);
  const std::int64_t response = 1 + draws.below(9);
  for (std::int64_t i = 0; i < sample.prompt_tokens + response; ++i) {
    sample.tokens.push_back(static_cast<base::TokenId>(draws.below(40)));
  }
  for (std::int64_t i = 0; i < response; ++i) {
    const bool trained = i == 0 || draws.below(5) != 0;
    sample.mask.push_back(trained ? 1 : 0);
    sample.log_probs.push_back(trained ? static_cast<float>(-3.6 - 0.2 * draws.uniform()) : 0.0F);
  }
  sample.reward = static_cast<double>(draws.below(3));
  sample.removed = id % 11 == 5;
  sample.status = sample::SampleStatus::completed;
  return sample;
}

}  // namespace

std::vector<Sample> SyntheticBatches::samples(std::int64_t step) const {
  std::vector<Sample> samples;
  const std::int64_t count = groups * group_size;
  for (std::int64_t i = 0; i < count; ++i) {
    samples.push_back(make_sample(seed, step * count + i, group_size));
  }
  return samples;
}

sample::Batch SyntheticBatches::batch(std::int64_t step, int dp_size, int dp_rank) const {
  const auto all = samples(step);
  sample::Batch batch;
  batch.dp_rank = dp_rank;
  batch.plan.step = step;
  for (const auto& one : all) batch.plan.samples.push_back(sample::summarise(one, 0));
  batch.plan.micro_batches =
      sample::plan_micro_batches(batch.plan.samples, dp_size, steps_per_rollout, rule);
  for (const std::int64_t index : sample::indices_of_rank(batch.plan, dp_rank)) {
    batch.samples.push_back(all[static_cast<std::size_t>(index)]);
  }
  return batch;
}

sample::Batch batch_of(std::vector<Sample> samples, std::int64_t steps_per_rollout,
                       const sample::MicroBatchRule& rule) {
  sample::Batch batch;
  for (const auto& one : samples) batch.plan.samples.push_back(sample::summarise(one, 0));
  batch.plan.micro_batches =
      sample::plan_micro_batches(batch.plan.samples, 1, steps_per_rollout, rule);
  batch.samples = std::move(samples);
  return batch;
}

model::ModelConfig tiny_model() {
  model::ModelConfig config;
  config.hidden_size = 24;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 3;
  config.num_key_value_heads = 1;
  config.head_dim = 8;
  config.intermediate_size = 40;
  config.vocab_size = 40;
  config.tie_word_embeddings = true;
  config.query_key_value_bias = true;
  config.max_position_embeddings = 64;
  config.initializer_range = 0.1;
  config.eos_token_ids = {39};
  return config;
}

std::vector<float> random_weights(const model::ModelConfig& model, std::uint64_t seed) {
  std::vector<float> flat(static_cast<std::size_t>(model::ParameterLayout(model).total()));
  model::initialise(model, seed, flat);
  return flat;
}

std::vector<float> tiny_weights(std::uint64_t seed) { return random_weights(tiny_model(), seed); }

TrainerSetup tiny_setup() {
  TrainerSetup setup;
  setup.model = tiny_model();
  setup.transfer_type = weights::TransferType::f32;
  setup.total_steps = 10;
  setup.options.optimiser.lr = 1e-2;
  setup.options.optimiser.lr_decay_style = DecayStyle::constant;
  return setup;
}

TrainerSetup expert_setup() {
  TrainerSetup setup = tiny_setup();
  setup.model.model_type = "qwen3_moe";
  setup.model.query_key_norm = true;
  setup.model.query_key_value_bias = false;
  setup.model.experts = {.count = 4,
                         .per_token = 2,
                         .intermediate_size = 16,
                         .normalise = true,
                         .layers = {false, true}};
  setup.options.loss.moe_aux_loss_coeff = 0.1;
  return setup;
}

}  // namespace physarum::training::test
