#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "physarum/base/ids.hpp"

namespace physarum::model {

/// How the angles of rotary positions are stretched for long contexts; docs/models.md has the
/// formulas.
struct RopeScaling {
  enum class Kind { none, linear, llama3 };
  Kind kind = Kind::none;
  double factor = 1.0;                  ///< wavelengths are multiplied by it
  double low_freq_factor = 1.0;         ///< llama3: wavelengths above original / this are
  double high_freq_factor = 4.0;        ///< llama3: wavelengths below original / this are not
  std::int64_t original_positions = 0;  ///< llama3: context of the pre-training

  friend bool operator==(const RopeScaling&, const RopeScaling&) = default;
};

/// Feed-forward parts that are a choice of experts. Each token goes to the `per_token` experts with
/// the highest router probability and adds their outputs up by it.
struct ExpertConfig {
  std::int64_t count = 0;              ///< 0: the model has none
  std::int64_t per_token = 0;          ///< 1 to count
  std::int64_t intermediate_size = 0;  ///< of one expert
  bool normalise = false;              ///< the chosen probabilities are divided by their sum
  /// [num_hidden_layers]: which layers have experts; empty if `count` is 0.
  std::vector<bool> layers;

  friend bool operator==(const ExpertConfig&, const ExpertConfig&) = default;
};

/// The shape of a transformer as in Hugging Face's config.json. RMSNorm before attention and before
/// the feed-forward part, rotary positions (halves paired), grouped-query attention, SwiGLU, tied
/// or untied head.
struct ModelConfig {
  std::string model_type = "qwen2";  ///< the family, one of model_types()
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
  RopeScaling rope_scaling;
  bool query_key_value_bias = false;
  bool query_key_norm = false;     ///< RMSNorm of each query and key head before the rotation
  bool output_bias = false;        ///< of o_proj
  bool feed_forward_bias = false;  ///< of gate, up and down, in layers without experts
  /// A token sees itself and the sliding_window - 1 tokens before it; 0: all before it.
  std::int64_t sliding_window = 0;
  /// [num_hidden_layers]: which layers have the window; empty if it is 0.
  std::vector<bool> window_layers;
  ExpertConfig experts;
  std::int64_t max_position_embeddings = 0;
  double initializer_range = 0.02;
  std::vector<base::TokenId> bos_token_ids;
  std::vector<base::TokenId> eos_token_ids;

  /// Reads config.json. Any thread. Throws UserError that names the file and the field: missing,
  /// out of range, or a feature that is not supported (other rotary positions, other activations,
  /// dropout, quantised weights ...).
  [[nodiscard]] static ModelConfig from_file(const std::filesystem::path& path);
  /// The same for text; `where` is the place in messages.
  [[nodiscard]] static ModelConfig from_json(std::string_view text, std::string_view where);

  /// config.json text that transformers loads.
  [[nodiscard]] std::string to_json() const;
  /// Throws UserError if the family is unknown or the sizes do not fit together; `where` is the
  /// place in messages.
  void validate(std::string_view where) const;

  [[nodiscard]] std::int64_t query_width() const { return num_attention_heads * head_dim; }
  [[nodiscard]] std::int64_t key_value_width() const { return num_key_value_heads * head_dim; }
  /// Query, key and value side by side.
  [[nodiscard]] std::int64_t attention_width() const {
    return query_width() + 2 * key_value_width();
  }
  /// Tokens that a token of this layer sees, itself included; 0: all.
  [[nodiscard]] std::int64_t window(std::int64_t layer) const {
    return sliding_window > 0 && window_layers[static_cast<std::size_t>(layer)] ? sliding_window
                                                                                : 0;
  }
  [[nodiscard]] bool has_experts() const { return experts.count > 0; }
  [[nodiscard]] bool has_experts(std::int64_t layer) const {
    return has_experts() && experts.layers[static_cast<std::size_t>(layer)];
  }
  /// Number of trained values (a tied head counts once).
  [[nodiscard]] std::int64_t parameter_count() const;

  friend bool operator==(const ModelConfig&, const ModelConfig&) = default;
};

/// The values of `model_type` that can be computed.
[[nodiscard]] std::vector<std::string> model_types();

}  // namespace physarum::model
