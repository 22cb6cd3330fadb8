#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "physarum/base/error.hpp"

#include "physarum/model/gguf_model.hpp"

#include "gguf_architecture.hpp"
#include "gguf_names.hpp"
#include "gguf_tokens.hpp"

namespace physarum::model {

namespace {

using Json = nlohmann::ordered_json;

/// What the keys of an architecture may be called behind its name. Another one would change the
/// model in a way that this reader does not know.
constexpr std::array<std::string_view, 22> known_keys{"context_length",
                                                      "embedding_length",
                                                      "block_count",
                                                      "feed_forward_length",
                                                      "vocab_size",
                                                      "tensor_data_layout",
                                                      "attention.head_count",
                                                      "attention.head_count_kv",
                                                      "attention.key_length",
                                                      "attention.value_length",
                                                      "attention.layer_norm_rms_epsilon",
                                                      "attention.causal",
                                                      "rope.dimension_count",
                                                      "rope.freq_base",
                                                      "rope.scaling.type",
                                                      "rope.scaling.factor",
                                                      "rope.scaling.original_context_length",
                                                      "rope.scaling.finetuned",
                                                      "expert_count",
                                                      "expert_used_count",
                                                      "use_parallel_residual",
                                                      "pooling_type"};

/// Reads one file's configuration.
class ConfigReader {
 public:
  explicit ConfigReader(const GgufView& gguf)
      : gguf_(gguf),
        header_(gguf.header),
        architecture_(gguf_architecture(gguf.header, gguf.where)) {}

  std::string read() {
    refuse_unknown();
    refuse_unsupported();
    const bool llama = architecture_ == "llama";
    Json json;
    json["architectures"] = {llama                      ? "LlamaForCausalLM"
                             : architecture_ == "qwen2" ? "Qwen2ForCausalLM"
                                                        : "Qwen3ForCausalLM"};
    json["model_type"] = architecture_;
    add_sizes(json);
    json["hidden_act"] = "silu";
    json["attention_dropout"] = 0.0;
    if (architecture_ != "qwen2") json["attention_bias"] = has("blk.0.attn_q.bias");
    if (!llama) json["use_sliding_window"] = false;
    json["rms_norm_eps"] = positive("attention.layer_norm_rms_epsilon", std::nullopt);
    json["rope_theta"] = rope_theta();
    if (auto scaling = rope_scaling(); !scaling.is_null()) json["rope_scaling"] = scaling;
    json["tie_word_embeddings"] = !has("output.weight");
    add_tokens(json);
    return json.dump(2) + "\n";
  }

 private:
  [[noreturn]] void refuse(std::string_view name, const std::string& what,
                           std::string_view mend) const {
    throw base::UserError("'" + key(name) + "' " + what, gguf_.where, mend);
  }
  [[nodiscard]] std::string key(std::string_view name) const {
    return architecture_ + "." + std::string(name);
  }
  [[nodiscard]] bool has(std::string_view tensor) const { return header_.find(tensor) != nullptr; }
  [[nodiscard]] std::int64_t count(std::string_view name, std::int64_t otherwise = 0) const {
    return gguf_count(header_, name, gguf_.where, otherwise);
  }
  [[nodiscard]] double positive(std::string_view name, std::optional<double> otherwise) const {
    const auto value = header_.number(key(name), gguf_.where);
    if (!value && !otherwise) refuse(name, "is missing", "give a complete file of a model");
    const double number = value.value_or(otherwise.value_or(0));
    if (!std::isfinite(number) || number <= 0)
      refuse(name, "is not positive", "the file is damaged");
    return number;
  }

  void refuse_unknown() const {
    const auto prefix = architecture_ + ".";
    for (auto at = header_.metadata.lower_bound(prefix);
         at != header_.metadata.end() && at->first.starts_with(prefix); ++at) {
      const auto name = std::string_view(at->first).substr(prefix.size());
      if (std::ranges::find(known_keys, name) == known_keys.end()) {
        refuse(name, "is not supported", "convert the model with another tool");
      }
    }
  }

  void refuse_unsupported() const {
    if (header_.count(key("expert_count"), gguf_.where).value_or(0) != 0) {
      refuse("expert_count", "is not 0", "mixtures of experts are read from safetensors only");
    }
    if (!header_.flag(key("attention.causal"), gguf_.where).value_or(true)) {
      refuse("attention.causal", "is false", "only causal models are supported");
    }
    if (header_.flag(key("use_parallel_residual"), gguf_.where).value_or(false)) {
      refuse("use_parallel_residual", "is true", "only one after another is supported");
    }
  }

  void add_sizes(Json& json) const {
    const auto heads = attention_heads(header_, gguf_.where);
    const auto hidden = count("embedding_length");
    json["hidden_size"] = hidden;
    json["num_hidden_layers"] = count("block_count");
    json["num_attention_heads"] = heads.query;
    json["num_key_value_heads"] = heads.key_value;
    json["head_dim"] = head_dim(hidden, heads.query);
    json["intermediate_size"] = count("feed_forward_length");
    json["vocab_size"] = vocabulary();
    json["max_position_embeddings"] = count("context_length");
  }

  [[nodiscard]] std::int64_t head_dim(std::int64_t hidden, std::int64_t heads) const {
    const auto rotated = count("rope.dimension_count", std::max<std::int64_t>(hidden / heads, 1));
    const auto width = count("attention.key_length", rotated);
    if (count("rope.dimension_count", width) != width) {
      refuse("rope.dimension_count", "is not the width of a head",
             "only full rotary positions are supported");
    }
    if (count("attention.value_length", width) != width) {
      refuse("attention.value_length", "is not attention.key_length",
             "only values as wide as keys are supported");
    }
    return width;
  }

  /// Rows of the embedding: writers leave vocab_size out, or give it without padding.
  [[nodiscard]] std::int64_t vocabulary() const {
    const auto* embedding = header_.find("token_embd.weight");
    if (embedding == nullptr || embedding->shape.size() != 2) {
      throw base::UserError("tensor 'token_embd.weight' is missing or no matrix", gguf_.where,
                            "give a file that holds a whole model");
    }
    return embedding->shape.front();
  }

  [[nodiscard]] double rope_theta() const { return positive("rope.freq_base", 10000.0); }

  [[nodiscard]] Json rope_scaling() const {
    const auto* type = header_.text(key("rope.scaling.type"), gguf_.where);
    if (has(rope_factors_name)) return llama3_scaling();
    if (type == nullptr || *type == "none") return nullptr;
    if (*type != "linear") {
      refuse("rope.scaling.type", "is '" + *type + "'", "none, linear and Llama 3's are supported");
    }
    const double factor = positive("rope.scaling.factor", 1.0);
    if (factor == 1.0) return nullptr;
    return {{"rope_type", "linear"}, {"factor", factor}};
  }

  /// The writers of Llama 3.1 and later leave only the divisors of each frequency in the file. They
  /// follow from one number, the largest of them, and three that are the same in all these models
  /// (Llama 3.1 to 3.3); that this is so is checked for every divisor.
  [[nodiscard]] Json llama3_scaling() const;

  void add_tokens(Json& json) const {
    const auto tokens = special_tokens(gguf_);
    if (tokens.bos) json["bos_token_id"] = *tokens.bos;
    if (tokens.ends.size() == 1) json["eos_token_id"] = tokens.ends.front();
    if (tokens.ends.size() > 1) json["eos_token_id"] = tokens.ends;
    if (tokens.pad) json["pad_token_id"] = *tokens.pad;
  }

  const GgufView& gguf_;
  const GgufHeader& header_;
  const std::string& architecture_;
};

/// Llama 3's divisor of a frequency: 1 for short waves, `factor` for long ones, and in between.
double llama3_divisor(double frequency, double factor, double low, double high, double context) {
  const double wave = 2 * std::numbers::pi / frequency;
  if (wave < context / high) return 1.0;
  if (wave > context / low) return factor;
  const double smooth = (context / wave - low) / (high - low);
  return 1.0 / ((1.0 - smooth) / factor + smooth);
}

Json ConfigReader::llama3_scaling() const {
  constexpr double low = 1.0;
  constexpr double high = 4.0;
  constexpr std::int64_t context = 8192;
  constexpr double tolerance = 1e-4;  // the writer computes in fp32
  const auto* tensor = header_.find(rope_factors_name);
  const auto hidden = count("embedding_length");
  const auto width = head_dim(hidden, attention_heads(header_, gguf_.where).query);
  const auto fail = [&] {
    throw base::UserError("tensor 'rope_freqs.weight' does not hold Llama 3's factors", gguf_.where,
                          "only those of Llama 3.1 to 3.3 are supported");
  };
  if (tensor->elements() != width / 2) fail();
  std::vector<float> factors(static_cast<std::size_t>(tensor->elements()));
  decode_range(tensor->type,
               gguf_.file.subspan(static_cast<std::size_t>(tensor->begin),
                                  static_cast<std::size_t>(tensor->end - tensor->begin)),
               0, factors);
  const double factor = *std::ranges::max_element(factors);
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const double frequency =
        std::pow(rope_theta(), -2.0 * static_cast<double>(i) / static_cast<double>(width));
    const double expected = llama3_divisor(frequency, factor, low, high, context);
    if (!(std::abs(factors[i] - expected) <= tolerance * expected)) fail();
  }
  if (factor == 1.0) return nullptr;
  return {{"rope_type", "llama3"},
          {"factor", factor},
          {"low_freq_factor", low},
          {"high_freq_factor", high},
          {"original_max_position_embeddings", context}};
}

}  // namespace

std::string gguf_config_json(const GgufView& gguf) { return ConfigReader(gguf).read(); }

}  // namespace physarum::model
