#include "gguf_architecture.hpp"

#include <algorithm>
#include <array>

#include "physarum/base/error.hpp"

namespace physarum::model {

namespace {

constexpr std::array<std::string_view, 3> architectures{"llama", "qwen2", "qwen3"};
constexpr std::int64_t largest_count = std::int64_t{1} << 31;

/// A list is for counts that differ from layer to layer; some writers give lists of equal ones.
std::int64_t same_in_all_layers(const std::vector<std::int64_t>& counts, const std::string& key,
                                std::string_view where) {
  const bool same = !counts.empty() && std::ranges::all_of(counts, [&](std::int64_t count) {
    return count == counts.front();
  });
  if (same) return counts.front();
  throw base::UserError("'" + key + "' differs from layer to layer", where,
                        "models with equal layers are supported");
}

}  // namespace

const std::string& gguf_architecture(const GgufHeader& header, std::string_view where) {
  const auto* name = header.text("general.architecture", where);
  if (name != nullptr && std::ranges::find(architectures, *name) != architectures.end()) {
    return *name;
  }
  throw base::UserError(
      name == nullptr ? "has no general.architecture" : "general.architecture is '" + *name + "'",
      where, "llama, qwen2 and qwen3 are supported");
}

bool is_llama(const GgufHeader& header, std::string_view where) {
  return gguf_architecture(header, where) == "llama";
}

std::int64_t gguf_count(const GgufHeader& header, std::string_view name, std::string_view where,
                        std::int64_t otherwise) {
  const auto key = gguf_architecture(header, where) + "." + std::string(name);
  const auto at = header.metadata.find(key);
  if (at == header.metadata.end()) {
    if (otherwise > 0) return otherwise;
    throw base::UserError("'" + key + "' is missing", where, "give a complete file of a model");
  }
  const auto* list = std::get_if<std::vector<std::int64_t>>(&at->second);
  const std::int64_t count = list != nullptr ? same_in_all_layers(*list, key, where)
                                             : header.count(key, where).value_or(0);
  if (count >= 1 && count <= largest_count) return count;
  throw base::UserError("'" + key + "' is " + std::to_string(count), where,
                        "it must be a positive integer");
}

AttentionHeads attention_heads(const GgufHeader& header, std::string_view where) {
  const auto query = gguf_count(header, "attention.head_count", where);
  const auto key_value = gguf_count(header, "attention.head_count_kv", where, query);
  return {query, key_value};
}

}  // namespace physarum::model
