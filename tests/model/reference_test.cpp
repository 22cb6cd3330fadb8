#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/topk.h>
#include <ATen/ops/tril.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include "physarum/model/transformer.hpp"

#include "small_models.hpp"

namespace physarum::model {
namespace {

/// The same model written the plain way with LibTorch's operations and automatic derivatives, one
/// sequence at a time.
class PlainModel {
 public:
  PlainModel(const ModelConfig& config, ParameterStore& store) : config_(config) {
    for (const auto& place : store.layout().tensors()) {
      parameters_[place.name] =
          at::from_blob(store.values().data() + place.offset, place.shape, at::kFloat)
              .clone()
              .requires_grad_();
    }
  }

  /// [T, vocab]
  at::Tensor logits(const std::vector<std::int64_t>& tokens) {
    auto x = at(at("model.embed_tokens.weight"), tokens);
    for (std::int64_t layer = 0; layer < config_.num_hidden_layers; ++layer) {
      const auto prefix = "model.layers." + std::to_string(layer) + ".";
      x = x +
          attention(prefix, norm(x, at(prefix + "input_layernorm.weight")), config_.window(layer));
      x = x + feed_forward(prefix, norm(x, at(prefix + "post_attention_layernorm.weight")));
    }
    const auto head =
        at(config_.tie_word_embeddings ? "model.embed_tokens.weight" : "lm_head.weight");
    return at::matmul(norm(x, at("model.norm.weight")), head.t());
  }

  const at::Tensor& at(const std::string& name) const { return parameters_.at(name); }

 private:
  static at::Tensor at(const at::Tensor& table, const std::vector<std::int64_t>& rows) {
    return table.index_select(0, at::tensor(rows));
  }
  at::Tensor norm(const at::Tensor& x, const at::Tensor& weight) const {
    return x * (x.pow(2).mean(-1, true) + config_.rms_norm_eps).rsqrt() * weight;
  }
  at::Tensor linear(const at::Tensor& x, const std::string& name) const {
    auto y = at::matmul(x, at(name + ".weight").t());
    const auto bias = parameters_.find(name + ".bias");
    return bias == parameters_.end() ? y : y + bias->second;
  }
  at::Tensor swiglu(const std::string& prefix, const at::Tensor& x) const {
    const auto gate = at::silu(linear(x, prefix + "gate_proj"));
    return linear(gate * linear(x, prefix + "up_proj"), prefix + "down_proj");
  }
  at::Tensor feed_forward(const std::string& prefix, const at::Tensor& x) const {
    if (parameters_.count(prefix + "mlp.gate.weight") == 0) return swiglu(prefix + "mlp.", x);
    const auto& experts = config_.experts;
    const auto probabilities = at::softmax(linear(x, prefix + "mlp.gate"), -1);
    auto [weights, chosen] = at::topk(probabilities, experts.per_token, -1);
    if (experts.normalise) weights = weights / weights.sum(-1, true);
    // All experts on all rows, with weight 0 where they were not chosen.
    const auto all = at::zeros_like(probabilities).scatter(1, chosen, weights);
    auto y = at::zeros_like(x);
    for (std::int64_t e = 0; e < experts.count; ++e) {
      const auto expert = prefix + "mlp.experts." + std::to_string(e) + ".";
      y = y + all.narrow(1, e, 1) * swiglu(expert, x);
    }
    return y;
  }
  /// [T, heads * head_dim] to rotated [heads, T, head_dim]; with the norm of the heads of
  /// `norm_name`.
  at::Tensor rotate(const at::Tensor& x, const std::string& norm_name) const {
    const auto half = config_.head_dim / 2;
    auto heads = x.view({x.size(0), -1, config_.head_dim}).transpose(0, 1);
    if (config_.query_key_norm) heads = norm(heads, at(norm_name));
    const auto exponents =
        at::arange(0, config_.head_dim, 2, at::kFloat) / static_cast<double>(config_.head_dim);
    const auto frequencies = (exponents * -std::log(config_.rope_theta)).exp();
    const auto angles = at::arange(x.size(0), at::kFloat).unsqueeze(1) * frequencies;
    const auto low = heads.narrow(-1, 0, half);
    const auto high = heads.narrow(-1, half, half);
    const std::vector<at::Tensor> halves{low * angles.cos() - high * angles.sin(),
                                         high * angles.cos() + low * angles.sin()};
    return at::cat(halves, -1);
  }
  at::Tensor attention(const std::string& prefix, const at::Tensor& x, std::int64_t window) const {
    const auto repeats = config_.num_attention_heads / config_.num_key_value_heads;
    const auto query =
        rotate(linear(x, prefix + "self_attn.q_proj"), prefix + "self_attn.q_norm.weight");
    const auto key =
        rotate(linear(x, prefix + "self_attn.k_proj"), prefix + "self_attn.k_norm.weight")
            .repeat_interleave(repeats, 0);
    const auto value = linear(x, prefix + "self_attn.v_proj")
                           .view({x.size(0), -1, config_.head_dim})
                           .transpose(0, 1)
                           .repeat_interleave(repeats, 0);
    const auto scores =
        at::matmul(query, key.transpose(1, 2)) / std::sqrt(static_cast<double>(config_.head_dim));
    auto seen = at::tril(at::ones({x.size(0), x.size(0)}, at::kBool));
    if (window > 0) seen = seen.logical_and(at::tril(seen, -window).logical_not());
    const auto masked = scores.masked_fill(seen.logical_not(), -1e30);
    const auto out = at::matmul(at::softmax(masked, -1), value);
    return linear(out.transpose(0, 1).reshape({x.size(0), -1}), prefix + "self_attn.o_proj");
  }

  ModelConfig config_;
  std::map<std::string, at::Tensor> parameters_;
};

/// Coefficients of the loss: each target's log-probability and entropy has another one.
float log_prob_factor(std::size_t i) { return 0.3F - 0.1F * static_cast<float>(i % 5); }
float entropy_factor(std::size_t i) { return 0.05F * static_cast<float>(i % 3); }

/// The plain model's loss on the batch.
at::Tensor plain_loss(PlainModel& model, const PackedBatch& batch, double temperature) {
  auto loss = at::tensor(0.0F);
  std::size_t i = 0;
  for (std::size_t s = 0; s + 1 < batch.sequence_starts.size(); ++s) {
    const auto start = batch.sequence_starts[s];
    const auto end = batch.sequence_starts[s + 1];
    const std::vector<std::int64_t> tokens(batch.tokens.begin() + start,
                                           batch.tokens.begin() + end);
    const auto table = at::log_softmax(model.logits(tokens) / temperature, -1);
    for (; i < batch.targets.size() && batch.targets[i] < end; ++i) {
      const auto row = table[batch.targets[i] - start - 1];
      const auto log_prob = row[batch.tokens[static_cast<std::size_t>(batch.targets[i])]];
      const auto entropy = -(row.exp() * row).sum();
      loss = loss + log_prob * log_prob_factor(i) + entropy * entropy_factor(i);
    }
  }
  return loss;
}

double run_ours(const ModelConfig& config, ParameterStore& store, const PackedBatch& batch,
                double temperature) {
  Transformer transformer(config, store);
  const auto scores = transformer.forward(
      batch, {.temperature = temperature, .keep = Keep::for_backward, .entropy = Entropy::compute});
  std::vector<float> d_log_probs;
  std::vector<float> d_entropies;
  double loss = 0;
  for (std::size_t i = 0; i < scores.log_probs.size(); ++i) {
    d_log_probs.push_back(log_prob_factor(i));
    d_entropies.push_back(entropy_factor(i));
    loss +=
        double{d_log_probs[i]} * scores.log_probs[i] + double{d_entropies[i]} * scores.entropies[i];
  }
  transformer.backward(d_log_probs, d_entropies);
  return loss;
}

void compare(const ModelConfig& config, const std::vector<std::int64_t>& lengths,
             std::int64_t prompt) {
  at::set_num_threads(1);  // waiting threads would only disturb: the matrices are small
  ParameterStore store(config, Gradients::allocate);
  randomise(config, 4, store);
  const auto batch = random_batch(config, lengths, prompt);
  const double temperature = 0.9;
  PlainModel plain(config, store);
  const auto loss = plain_loss(plain, batch, temperature);
  loss.backward();
  const double ours = run_ours(config, store, batch, temperature);
  EXPECT_NEAR(ours, loss.item<float>(), 1e-4 * std::abs(ours) + 1e-5);
  double whole = 0;
  for (const float g : store.gradients()) whole += double{g} * double{g};
  for (const auto& place : store.layout().tensors()) {
    const auto gradient =
        at::from_blob(store.gradients().data() + place.offset, place.shape, at::kFloat);
    const auto expected = plain.at(place.name).grad();
    const double scale = std::max(expected.norm().item<double>(), 1e-3 * std::sqrt(whole));
    EXPECT_LE((gradient - expected).norm().item<double>(), 1e-4 * scale) << place.name;
  }
}

TEST(Reference, agrees_on_the_built_in_kind_of_model) { compare(small_config(), {13, 1, 45}, 5); }

TEST(Reference, agrees_on_sizes_that_fit_nothing) { compare(odd_config(), {3, 29, 17, 16}, 2); }

TEST(Reference, agrees_on_long_sequences) { compare(small_config(), {200, 130}, 60); }

TEST(Reference, agrees_when_every_head_has_its_own_keys) {
  auto config = odd_config();
  config.num_key_value_heads = 3;
  config.output_bias = false;
  config.query_key_value_bias = false;
  config.num_hidden_layers = 1;
  compare(config, {10, 33}, 1);
}

TEST(Reference, agrees_on_heads_that_are_wider_than_a_tile) {
  auto config = small_config();
  config.num_attention_heads = 2;
  config.num_key_value_heads = 1;
  config.head_dim = 40;
  config.num_hidden_layers = 3;
  compare(config, {22, 9}, 3);
}

TEST(Reference, agrees_on_norms_of_heads) {
  auto config = small_config();
  config.model_type = "qwen3";
  config.query_key_norm = true;
  compare(config, {13, 1, 200}, 5);
  config = odd_config();
  config.query_key_norm = true;
  compare(config, {3, 29, 17}, 2);
}

TEST(Reference, agrees_on_windows_in_some_layers) {
  auto config = odd_config();
  config.num_hidden_layers = 3;
  config.sliding_window = 19;
  config.window_layers = {true, false, true};
  compare(config, {18, 19, 20, 100}, 4);
}

TEST(Reference, agrees_on_biases_in_the_feed_forward_part) {
  auto config = odd_config();
  config.feed_forward_bias = true;
  compare(config, {40, 200}, 4);
}

TEST(Reference, agrees_on_experts) {
  for (const bool normalise : {false, true}) {
    auto config = small_config();
    config.model_type = "qwen3_moe";
    config.num_hidden_layers = 3;
    config.experts = {.count = 7,
                      .per_token = 3,
                      .intermediate_size = 21,
                      .normalise = normalise,
                      .layers = {true, false, true}};
    compare(config, {220, 1, 45}, 5);  // more rows for an expert than it takes at a time
  }
}

TEST(Reference, agrees_on_a_single_expert) {
  auto config = small_config();
  config.model_type = "qwen3_moe";
  config.experts = {.count = 1,
                    .per_token = 1,
                    .intermediate_size = 16,
                    .normalise = false,
                    .layers = {true, true}};
  compare(config, {230}, 5);
}

}  // namespace
}  // namespace physarum::model
