#include "gguf_names.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace physarum::model {

namespace {

using Names = std::pair<std::string_view, std::string_view>;

constexpr std::array model_names{Names{"token_embd", "model.embed_tokens"},
                                 Names{"output_norm", "model.norm"}, Names{"output", "lm_head"}};
constexpr std::array block_names{
    Names{"attn_norm", "input_layernorm"},    Names{"attn_q", "self_attn.q_proj"},
    Names{"attn_k", "self_attn.k_proj"},      Names{"attn_v", "self_attn.v_proj"},
    Names{"attn_output", "self_attn.o_proj"}, Names{"attn_q_norm", "self_attn.q_norm"},
    Names{"attn_k_norm", "self_attn.k_norm"}, Names{"ffn_norm", "post_attention_layernorm"},
    Names{"ffn_gate", "mlp.gate_proj"},       Names{"ffn_up", "mlp.up_proj"},
    Names{"ffn_down", "mlp.down_proj"}};

/// The other name of a module; empty: it has none.
std::string_view translate(std::span<const Names> names, std::string_view module) {
  const auto at = std::ranges::find(names, module, &Names::first);
  return at == names.end() ? std::string_view() : at->second;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 9 &&
         std::ranges::all_of(text, [](char c) { return '0' <= c && c <= '9'; });
}

}  // namespace

std::string hugging_face_name(std::string_view gguf_name) {
  const auto dot = gguf_name.rfind('.');
  if (dot == std::string_view::npos) return std::string(gguf_name);
  const auto module = gguf_name.substr(0, dot);
  const auto kind = std::string(gguf_name.substr(dot));  // .weight, .bias
  if (const auto name = translate(model_names, module); !name.empty()) {
    return std::string(name) + kind;
  }
  constexpr std::string_view block = "blk.";
  const auto end_of_number = module.find('.', block.size());
  if (!module.starts_with(block) || end_of_number == std::string_view::npos) {
    return std::string(gguf_name);
  }
  const auto number = module.substr(block.size(), end_of_number - block.size());
  const auto name = translate(block_names, module.substr(end_of_number + 1));
  if (!is_number(number) || name.empty()) return std::string(gguf_name);
  return "model.layers." + std::string(number) + "." + std::string(name) + kind;
}

}  // namespace physarum::model
