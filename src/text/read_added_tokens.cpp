#include "read_tokenizer.hpp"

namespace physarum::text {

namespace {

AddedToken read_added_token(const JsonField& field, const TokenizerLimits& limits) {
  field.expect_keys({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
  AddedToken token;
  const JsonField id = field.at("id");
  if (id.integer() < 0 || id.integer() >= static_cast<std::int64_t>(limits.tokens)) {
    id.refuse("must be from 0 to " + std::to_string(limits.tokens - 1), "number tokens from 0");
  }
  token.id = static_cast<base::TokenId>(id.integer());
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

}  // namespace

std::vector<AddedToken> read_added_tokens(const JsonField& list, const TokenizerLimits& limits) {
  const std::size_t count = list.items(limits.added_tokens);
  std::vector<AddedToken> tokens;
  tokens.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    tokens.push_back(read_added_token(list.item(i), limits));
  }
  return tokens;
}

}  // namespace physarum::text
