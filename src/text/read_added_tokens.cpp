#include <algorithm>
#include <charconv>

#include "read_tokenizer.hpp"

namespace physarum::text {

namespace {

base::TokenId check_id(const JsonField& field, std::int64_t id, const TokenizerLimits& limits) {
  if (id < 0 || id >= static_cast<std::int64_t>(limits.tokens)) {
    field.refuse("must be from 0 to " + std::to_string(limits.tokens - 1), "number tokens from 0");
  }
  return static_cast<base::TokenId>(id);
}

/// All but the id, which the two files keep in different places.
AddedToken read_properties(const JsonField& field, const TokenizerLimits& limits) {
  AddedToken token;
  const JsonField content = field.at("content");
  token.content = content.text();
  if (token.content.empty() || token.content.size() > limits.token_bytes) {
    content.refuse("must have 1 to " + std::to_string(limits.token_bytes) + " bytes",
                   "remove this token");
  }
  token.special = field.flag_or("special", false);
  token.single_word = field.flag_or("single_word", false);
  token.left_strip = field.flag_or("lstrip", false);
  token.right_strip = field.flag_or("rstrip", false);
  token.normalized = field.flag_or("normalized", !token.special);
  return token;
}

/// An id that stands as a key, and so as text.
base::TokenId read_id_key(const JsonField& field, const std::string& key,
                          const TokenizerLimits& limits) {
  std::int64_t id = -1;
  const char* const end = key.data() + key.size();
  const auto result = std::from_chars(key.data(), end, id);
  if (result.ec != std::errc() || result.ptr != end) {
    field.refuse("stands under a key that is no id", "use the token's id as the key");
  }
  return check_id(field, id, limits);
}

}  // namespace

std::vector<AddedTokenEntry> read_added_tokens(const JsonField& list,
                                               const TokenizerLimits& limits) {
  const std::size_t count = list.items(limits.added_tokens);
  std::vector<AddedTokenEntry> entries;
  entries.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const JsonField field = list.item(i);
    field.expect_keys(
        {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
    const JsonField id = field.at("id");
    const base::TokenId value = check_id(id, id.integer(), limits);
    entries.push_back({read_properties(field, limits), field});
    entries.back().token.id = value;
  }
  return entries;
}

void read_added_tokens_decoder(const JsonField& config, const TokenizerLimits& limits,
                               std::vector<AddedTokenEntry>& entries) {
  const auto decoder = config.find("added_tokens_decoder");
  if (!decoder) return;
  std::unordered_map<std::string, std::size_t> known;
  for (std::size_t i = 0; i < entries.size(); ++i) known.emplace(entries[i].token.content, i);
  for (const JsonField& field : decoder->members(limits.added_tokens)) {
    field.expect_keys({"content", "single_word", "lstrip", "rstrip", "normalized", "special"});
    AddedTokenEntry entry{read_properties(field, limits), field};
    entry.token.id = read_id_key(field, field.key(), limits);
    const auto [found, is_new] = known.emplace(entry.token.content, entries.size());
    if (is_new) {
      entries.push_back(std::move(entry));
      continue;
    }
    AddedTokenEntry& other = entries[found->second];
    if (other.token.id != entry.token.id) {
      field.refuse("gives '" + entry.token.content.substr(0, 64) + "' another id than " +
                       other.field.place() + " does",
                   "use one id");
    }
    other.token = std::move(entry.token);
  }
}

}  // namespace physarum::text
