#include "gguf_tokens.hpp"

#include <algorithm>

#include "physarum/base/error.hpp"

namespace physarum::model {

namespace {

std::optional<std::int64_t> token_of(const GgufView& gguf, const char* key) {
  const auto id = gguf.header.count(key, gguf.where);
  if (!id) return std::nullopt;
  const auto size = static_cast<std::int64_t>(vocabulary_of(gguf).size());
  if (*id < size) return id;
  throw base::UserError("'" + std::string(key) + "' is " + std::to_string(*id) + ", of " +
                            std::to_string(size) + " tokens",
                        gguf.where, "the file is damaged");
}

}  // namespace

const std::vector<std::string>& vocabulary_of(const GgufView& gguf) {
  const auto* tokens = gguf.header.texts("tokenizer.ggml.tokens", gguf.where);
  if (tokens != nullptr) return *tokens;
  throw base::UserError("'tokenizer.ggml.tokens' is missing", gguf.where,
                        "give a file that holds its tokenizer");
}

SpecialTokens special_tokens(const GgufView& gguf) {
  SpecialTokens tokens;
  tokens.bos = token_of(gguf, "tokenizer.ggml.bos_token_id");
  tokens.eos = token_of(gguf, "tokenizer.ggml.eos_token_id");
  tokens.pad = token_of(gguf, "tokenizer.ggml.padding_token_id");
  tokens.unknown = token_of(gguf, "tokenizer.ggml.unknown_token_id");
  for (const auto& end : {tokens.eos, token_of(gguf, "tokenizer.ggml.eot_token_id"),
                          token_of(gguf, "tokenizer.ggml.eom_token_id")}) {
    if (end && std::ranges::find(tokens.ends, *end) == tokens.ends.end()) {
      tokens.ends.push_back(*end);
    }
  }
  return tokens;
}

}  // namespace physarum::model
