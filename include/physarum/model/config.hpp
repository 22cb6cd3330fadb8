#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "physarum/base/ids.hpp"

namespace physarum::model {

/// Decoder-only families: the same blocks, they differ in which projections have a bias.
enum class Family { qwen2, llama };

/// The shape of a transformer as in Hugging Face's config.json. RMSNorm before attention and before
/// the feed-forward part, rotary positions (default type, halves paired), grouped-query attention,
/// SwiGLU, tied or untied head.
struct ModelConfig {
  Family family = Family::qwen2;
  std::int64_t hidden_size = 0;
  std::int64_t num_hidden_layers = 0;
  std::int64_t num_attention_heads = 0;
  std::int64_t num_key_value_heads = 0;
  std::int64_t head_dim = 0;  ///< even
  std::int64_t intermediate_size = 0;
  std::int64_t vocab_size = 0;
  double rms_norm_eps = 1e-6;
  double rope_theta = 10000.0;
  bool tie_word_embeddings = false;
  bool query_key_value_bias = false;  ///< qwen2: always; llama: its attention_bias
  bool output_bias = false;           ///< bias of o_proj; llama: its attention_bias
  std::int64_t max_position_embeddings = 0;
  double initializer_range = 0.02;
  std::vector<base::TokenId> bos_token_ids;
  std::vector<base::TokenId> eos_token_ids;

  /// Reads config.json. Any thread. Throws UserError that names the file and the field: missing,
  /// out of range, or a feature that is not supported (scaled rotary positions, sliding windows,
  /// other activations, dropout, quantised weights ...).
  [[nodiscard]] static ModelConfig from_file(const std::filesystem::path& path);
  /// The same for text; `where` is the place in messages.
  [[nodiscard]] static ModelConfig from_json(std::string_view text, std::string_view where);

  /// config.json text that transformers loads.
  [[nodiscard]] std::string to_json() const;
  /// Throws UserError if the sizes do not fit together; `where` is the place in messages.
  void validate(std::string_view where) const;

  [[nodiscard]] std::int64_t query_width() const { return num_attention_heads * head_dim; }
  [[nodiscard]] std::int64_t key_value_width() const { return num_key_value_heads * head_dim; }
  /// Query, key and value side by side.
  [[nodiscard]] std::int64_t attention_width() const {
    return query_width() + 2 * key_value_width();
  }
  /// Number of trained values (a tied head counts once).
  [[nodiscard]] std::int64_t parameter_count() const;

  friend bool operator==(const ModelConfig&, const ModelConfig&) = default;
};

}  // namespace physarum::model
