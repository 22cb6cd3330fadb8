#include "physarum/model/config.hpp"

#include <algorithm>

#include "physarum/base/error.hpp"
#include "physarum/base/joined.hpp"

#include "families.hpp"

namespace physarum::model {

namespace {
struct SizeLimit {
  const char* field;
  std::int64_t ModelConfig::*size;
  std::int64_t largest;
};

// Far above any known model, and low enough that no product of sizes overflows 63 bits, whatever a
// damaged or hostile file says.
constexpr SizeLimit size_limits[] = {
    {"hidden_size", &ModelConfig::hidden_size, 1 << 20},
    {"num_hidden_layers", &ModelConfig::num_hidden_layers, 1 << 12},
    {"num_attention_heads", &ModelConfig::num_attention_heads, 1 << 12},
    {"num_key_value_heads", &ModelConfig::num_key_value_heads, 1 << 12},
    {"head_dim", &ModelConfig::head_dim, 1 << 12},
    {"intermediate_size", &ModelConfig::intermediate_size, 1 << 22},
    {"vocab_size", &ModelConfig::vocab_size, 1 << 24},
    {"max_position_embeddings", &ModelConfig::max_position_embeddings, 1 << 30},
};

void require(bool fits, const std::string& what, std::string_view where, std::string_view mend) {
  if (!fits) throw base::UserError(what, where, mend);
}

/// Experts of all layers together: each has a few tensors, so that a small file could ask for
/// endless lists of names.
constexpr std::int64_t most_experts = 1 << 16;

void require_between(const char* field, std::int64_t value, std::int64_t largest,
                     std::string_view where) {
  require(value >= 1 && value <= largest,
          "field '" + std::string(field) + "' is " + std::to_string(value), where,
          "it must be from 1 to " + std::to_string(largest));
}

void check_experts(const ModelConfig& config, std::string_view where) {
  const auto& experts = config.experts;
  if (experts.count == 0) {
    require(experts.layers.empty(), "layers have experts, but there are none", where,
            "give their number");
    return;
  }
  require_between("num_experts", experts.count, 1 << 10, where);
  require_between("moe_intermediate_size", experts.intermediate_size, 1 << 18, where);
  require(experts.per_token >= 1 && experts.per_token <= experts.count,
          "field 'num_experts_per_tok' is " + std::to_string(experts.per_token) +
              ", but there are " + std::to_string(experts.count) + " experts",
          where, "a token goes to at least one and at most all of them");
  require(experts.count * config.num_hidden_layers <= most_experts,
          "fields 'num_experts' and 'num_hidden_layers' make " +
              std::to_string(experts.count * config.num_hidden_layers) + " experts",
          where, "at most " + std::to_string(most_experts) + " are supported");
  require(static_cast<std::int64_t>(experts.layers.size()) == config.num_hidden_layers,
          "it must be said of every layer whether it has experts", where, "give them all");
}

void check_window(const ModelConfig& config, std::string_view where) {
  const auto layers = config.sliding_window > 0 ? config.num_hidden_layers : 0;
  require(config.sliding_window >= 0 && config.sliding_window <= std::int64_t{1} << 31,
          "field 'sliding_window' is " + std::to_string(config.sliding_window), where,
          "it must be a positive integer");
  require(static_cast<std::int64_t>(config.window_layers.size()) == layers,
          "it must be said of every layer whether it has the sliding window", where,
          "give them all");
}

void check_rope(const RopeScaling& scaling, std::string_view where) {
  if (scaling.kind != RopeScaling::Kind::llama3) return;
  require(scaling.high_freq_factor > scaling.low_freq_factor,
          "field 'high_freq_factor' is not above 'low_freq_factor'", where,
          "llama3 interpolates between the two");
  require_between("original_max_position_embeddings", scaling.original_positions, 1 << 30, where);
}

void check_ids(const std::vector<base::TokenId>& ids, const char* name, std::int64_t vocab_size,
               std::string_view where) {
  for (const auto id : ids) {
    require(id >= 0 && id < vocab_size,
            "field '" + std::string(name) + "' holds " + std::to_string(id) +
                ", which is not below vocab_size " + std::to_string(vocab_size),
            where, "give ids of the model's vocabulary");
  }
}
}  // namespace

void ModelConfig::validate(std::string_view where) const {
  require(find_family(model_type) != nullptr,
          "field 'model_type' is '" + model_type + "', which is not supported", where,
          "use one of " + base::joined(model_types(), ", "));
  for (const auto& limit : size_limits) {
    require_between(limit.field, this->*limit.size, limit.largest, where);
  }
  require(num_attention_heads % num_key_value_heads == 0,
          "num_attention_heads " + std::to_string(num_attention_heads) +
              " is not a multiple of num_key_value_heads " + std::to_string(num_key_value_heads),
          where, "every key-value head must serve the same number of query heads");
  require(head_dim % 2 == 0, "field 'head_dim' is " + std::to_string(head_dim), where,
          "rotary positions need an even one");
  check_rope(rope_scaling, where);
  check_window(*this, where);
  check_experts(*this, where);
  check_ids(bos_token_ids, "bos_token_id", vocab_size, where);
  check_ids(eos_token_ids, "eos_token_id", vocab_size, where);
}

std::int64_t ModelConfig::parameter_count() const {
  const std::int64_t attention = hidden_size * (attention_width() + query_width()) +
                                 (query_key_value_bias ? attention_width() : 0) +
                                 (output_bias ? hidden_size : 0) +
                                 (query_key_norm ? 2 * head_dim : 0);
  const std::int64_t dense = 3 * hidden_size * intermediate_size +
                             (feed_forward_bias ? 2 * intermediate_size + hidden_size : 0);
  const std::int64_t expert = 3 * hidden_size * experts.intermediate_size;
  const std::int64_t sparse = experts.count * (hidden_size + expert);
  const std::int64_t sparse_layers = std::ranges::count(experts.layers, true);
  const std::int64_t embeddings = vocab_size * hidden_size * (tie_word_embeddings ? 1 : 2);
  return embeddings + num_hidden_layers * (attention + 2 * hidden_size) + sparse_layers * sparse +
         (num_hidden_layers - sparse_layers) * dense + hidden_size;
}

}  // namespace physarum::model
