#include "split_rules.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include "physarum/base/error.hpp"

namespace physarum::weights {
namespace {

/// Split, and what has several of them after one another.
enum class Kind : std::uint8_t {
  copied,
  rows,
  columns,
  vocabulary,
  query_rows,
  query_columns,
  key_value_rows,
  query_key_value,  ///< query, key and value rows
  gate_up,          ///< gate and up rows
};

struct NameRule {
  std::string_view name;
  Kind kind;
};

/// Outside the layers, with the place.
struct OuterRule {
  std::string_view name;
  SplitRule::Place place;
  Kind kind;
};
constexpr std::array outer_rules = {
    OuterRule{"model.embed_tokens.weight", SplitRule::Place::first_stage, Kind::vocabulary},
    OuterRule{"model.norm.weight", SplitRule::Place::last_stage, Kind::copied},
    OuterRule{"lm_head.weight", SplitRule::Place::last_stage, Kind::vocabulary},
};

/// Behind "model.layers.N.".
constexpr std::array layer_rules = {
    NameRule{"input_layernorm.weight", Kind::copied},
    NameRule{"post_attention_layernorm.weight", Kind::copied},
    NameRule{"self_attn.q_proj.weight", Kind::query_rows},
    NameRule{"self_attn.q_proj.bias", Kind::query_rows},
    NameRule{"self_attn.k_proj.weight", Kind::key_value_rows},
    NameRule{"self_attn.k_proj.bias", Kind::key_value_rows},
    NameRule{"self_attn.v_proj.weight", Kind::key_value_rows},
    NameRule{"self_attn.v_proj.bias", Kind::key_value_rows},
    NameRule{"self_attn.qkv_proj.weight", Kind::query_key_value},
    NameRule{"self_attn.qkv_proj.bias", Kind::query_key_value},
    NameRule{"self_attn.q_norm.weight", Kind::copied},
    NameRule{"self_attn.k_norm.weight", Kind::copied},
    NameRule{"self_attn.o_proj.weight", Kind::query_columns},
    NameRule{"self_attn.o_proj.bias", Kind::copied},
    // Latent attention: the ways down are small and whole, the ways up are by head.
    NameRule{"self_attn.q_a_proj.weight", Kind::copied},
    NameRule{"self_attn.q_a_layernorm.weight", Kind::copied},
    NameRule{"self_attn.q_b_proj.weight", Kind::query_rows},
    NameRule{"self_attn.kv_a_proj_with_mqa.weight", Kind::copied},
    NameRule{"self_attn.kv_a_layernorm.weight", Kind::copied},
    NameRule{"self_attn.kv_b_proj.weight", Kind::query_rows},
    NameRule{"mlp.gate_proj.weight", Kind::rows},
    NameRule{"mlp.gate_proj.bias", Kind::rows},
    NameRule{"mlp.up_proj.weight", Kind::rows},
    NameRule{"mlp.up_proj.bias", Kind::rows},
    NameRule{"mlp.gate_up_proj.weight", Kind::gate_up},
    NameRule{"mlp.down_proj.weight", Kind::columns},
    NameRule{"mlp.down_proj.bias", Kind::copied},
    NameRule{"mlp.gate.weight", Kind::copied},
    NameRule{"mlp.gate.e_score_correction_bias", Kind::copied},
    NameRule{"mlp.shared_experts.gate_proj.weight", Kind::rows},
    NameRule{"mlp.shared_experts.up_proj.weight", Kind::rows},
    NameRule{"mlp.shared_experts.down_proj.weight", Kind::columns},
    NameRule{"mlp.shared_expert.gate_proj.weight", Kind::rows},
    NameRule{"mlp.shared_expert.up_proj.weight", Kind::rows},
    NameRule{"mlp.shared_expert.down_proj.weight", Kind::columns},
    NameRule{"mlp.shared_expert_gate.weight", Kind::copied},
    NameRule{"block_sparse_moe.gate.weight", Kind::copied},
};

/// Behind "mlp.experts.N." or "block_sparse_moe.experts.N.".
constexpr std::array expert_rules = {
    NameRule{"gate_proj.weight", Kind::rows},    NameRule{"up_proj.weight", Kind::rows},
    NameRule{"down_proj.weight", Kind::columns}, NameRule{"w1.weight", Kind::rows},
    NameRule{"w3.weight", Kind::rows},           NameRule{"w2.weight", Kind::columns},
};

[[noreturn]] void refuse(const std::string& what, const TensorSpec& spec) {
  throw base::UserError(what, "tensor '" + spec.name + "'",
                        "leave the model in one piece: parallel sizes of 1");
}

[[noreturn]] void refuse_unknown(const TensorSpec& spec) {
  refuse("it is not known how to split this tensor", spec);
}

/// Takes "PREFIX<number>." from the front of `name` and returns the number.
std::optional<std::int64_t> take_number(std::string_view& name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  const std::string_view rest = name.substr(prefix.size());
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  const auto digits = static_cast<std::size_t>(end - rest.data());
  if (error != std::errc{} || number < 0 || digits == rest.size() || rest[digits] != '.') {
    return std::nullopt;
  }
  name = rest.substr(digits + 1);
  return number;
}

template <std::size_t Count>
Kind find_kind(const std::array<NameRule, Count>& rules, std::string_view name,
               const TensorSpec& spec) {
  const auto found = std::ranges::find(rules, name, &NameRule::name);
  if (found == rules.end()) refuse_unknown(spec);
  return found->kind;
}

/// Where the tensor belongs, and the kind of its split.
Kind read_name(const TensorSpec& spec, const SplitFacts& facts, SplitRule& rule) {
  std::string_view name = spec.name;
  const auto layer = take_number(name, "model.layers.");
  if (!layer) {
    const auto found = std::ranges::find(outer_rules, name, &OuterRule::name);
    if (found == outer_rules.end()) refuse_unknown(spec);
    rule.place = found->place;
    return found->kind;
  }
  if (*layer >= facts.layers) {
    refuse("a layer beyond the model's " + std::to_string(facts.layers), spec);
  }
  rule.place = SplitRule::Place::layer;
  rule.layer = *layer;
  auto expert = take_number(name, "mlp.experts.");
  if (!expert) expert = take_number(name, "block_sparse_moe.experts.");
  if (!expert) return find_kind(layer_rules, name, spec);
  if (*expert >= facts.experts) {
    refuse("an expert beyond the model's " + std::to_string(facts.experts), spec);
  }
  rule.expert = *expert;
  return find_kind(expert_rules, name, spec);
}

void read_shape(const TensorSpec& spec, Kind kind, SplitRule& rule) {
  if (kind != Kind::copied && (spec.shape.empty() || spec.shape.size() > 2)) {
    refuse("a tensor with " + std::to_string(spec.shape.size()) + " dimensions cannot be split",
           spec);
  }
  rule.rows = spec.shape.empty() ? 1 : spec.shape.front();
  for (std::size_t i = 1; i < spec.shape.size(); ++i) rule.columns *= spec.shape[i];
}

void expect_multiple(std::int64_t extent, std::int64_t unit, const char* of,
                     const TensorSpec& spec) {
  if (unit >= 1 && extent % unit == 0) return;
  refuse(
      std::to_string(extent) + " is no multiple of the model's " + std::to_string(unit) + " " + of,
      spec);
}

std::vector<SplitPart> parts_of(const TensorSpec& spec, Kind kind, const SplitFacts& facts,
                                const SplitRule& rule) {
  const std::int64_t heads = facts.attention_heads;
  const std::int64_t key_values = facts.key_value_heads;
  const Range all{0, rule.rows};
  switch (kind) {
    case Kind::copied:
      return {{Split::copied, all}};
    case Kind::rows:
      return {{Split::rows, all}};
    case Kind::columns:
      return {{Split::columns, all}};
    case Kind::vocabulary:
      return {{Split::vocabulary, all}};
    case Kind::query_rows:
      expect_multiple(rule.rows, heads, "attention heads", spec);
      return {{Split::query_rows, all}};
    case Kind::query_columns:
      expect_multiple(rule.columns, heads, "attention heads", spec);
      return {{Split::query_columns, all}};
    case Kind::key_value_rows:
      expect_multiple(rule.rows, key_values, "key-value heads", spec);
      return {{Split::key_value_rows, all}};
    case Kind::query_key_value: {
      expect_multiple(rule.rows, heads + 2 * key_values, "attention and key-value heads", spec);
      const std::int64_t head = rule.rows / (heads + 2 * key_values);
      const std::int64_t key = heads * head;
      const std::int64_t value = key + key_values * head;
      return {{Split::query_rows, {0, key}},
              {Split::key_value_rows, {key, value}},
              {Split::key_value_rows, {value, rule.rows}}};
    }
    case Kind::gate_up:
      expect_multiple(rule.rows, 2, "halves", spec);
      return {{Split::rows, {0, rule.rows / 2}}, {Split::rows, {rule.rows / 2, rule.rows}}};
  }
  refuse_unknown(spec);
}

/// Heads to rows or columns.
Range scaled(Range heads, std::int64_t extent, std::int64_t count) {
  const std::int64_t head = extent / count;
  return {heads.begin * head, heads.end * head};
}

}  // namespace

Range even_part(std::int64_t extent, std::int64_t index, std::int64_t count) {
  return {extent * index / count, extent * (index + 1) / count};
}

SplitRule split_rule(const TensorSpec& spec, const SplitFacts& facts) {
  SplitRule rule;
  const Kind kind = read_name(spec, facts, rule);
  read_shape(spec, kind, rule);
  rule.parts = parts_of(spec, kind, facts, rule);
  return rule;
}

PartShare share_of_part(const SplitRule& rule, const SplitPart& part, const SplitFacts& facts,
                        std::int64_t rank, std::int64_t ranks, std::int64_t vocabulary_multiple) {
  const std::int64_t rows = part.rows.size();
  const auto exact = [](Range range) { return PartShare{range, range.size()}; };
  const Range heads = even_part(facts.attention_heads, rank, ranks);
  switch (part.split) {
    case Split::rows:
      return exact(even_part(rows, rank, ranks));
    case Split::columns:
      return exact(even_part(rule.columns, rank, ranks));
    case Split::query_rows:
      return exact(scaled(heads, rows, facts.attention_heads));
    case Split::query_columns:
      return exact(scaled(heads, rule.columns, facts.attention_heads));
    case Split::key_value_rows: {
      const std::int64_t group = facts.attention_heads / facts.key_value_heads;
      return exact(
          scaled({heads.begin / group, (heads.end - 1) / group + 1}, rows, facts.key_value_heads));
    }
    case Split::vocabulary: {
      const std::int64_t least = (rows + ranks - 1) / ranks;
      const std::int64_t each = ranks == 1 ? rows
                                           : (least + vocabulary_multiple - 1) /
                                                 vocabulary_multiple * vocabulary_multiple;
      return {{std::min(rows, rank * each), std::min(rows, (rank + 1) * each)}, each};
    }
    case Split::copied:
      break;
  }
  return exact({0, rows});
}

}  // namespace physarum::weights
