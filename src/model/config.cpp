#include "physarum/model/config.hpp"

#include "physarum/base/error.hpp"

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
  for (const auto& limit : size_limits) {
    const auto size = this->*limit.size;
    require(size >= 1 && size <= limit.largest,
            "field '" + std::string(limit.field) + "' is " + std::to_string(size), where,
            "it must be from 1 to " + std::to_string(limit.largest));
  }
  require(num_attention_heads % num_key_value_heads == 0,
          "num_attention_heads " + std::to_string(num_attention_heads) +
              " is not a multiple of num_key_value_heads " + std::to_string(num_key_value_heads),
          where, "every key-value head must serve the same number of query heads");
  require(head_dim % 2 == 0, "field 'head_dim' is " + std::to_string(head_dim), where,
          "rotary positions need an even one");
  check_ids(bos_token_ids, "bos_token_id", vocab_size, where);
  check_ids(eos_token_ids, "eos_token_id", vocab_size, where);
}

std::int64_t ModelConfig::parameter_count() const {
  const std::int64_t biases =
      (query_key_value_bias ? attention_width() : 0) + (output_bias ? hidden_size : 0);
  const std::int64_t matrices =
      hidden_size * (attention_width() + query_width() + 3 * intermediate_size);
  const std::int64_t layer = matrices + biases + 2 * hidden_size;
  const std::int64_t embeddings = vocab_size * hidden_size * (tie_word_embeddings ? 1 : 2);
  return embeddings + num_hidden_layers * layer + hidden_size;
}

}  // namespace physarum::model
