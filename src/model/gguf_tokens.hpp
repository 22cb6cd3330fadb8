#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "physarum/model/gguf_model.hpp"

namespace physarum::model {

/// What tokenizer.ggml.* says of tokens with a role; ids are checked against the vocabulary.
struct SpecialTokens {
  std::optional<std::int64_t> bos;
  std::optional<std::int64_t> eos;
  std::optional<std::int64_t> pad;
  std::optional<std::int64_t> unknown;
  std::vector<std::int64_t> ends;  ///< eos, end of turn, end of message; each once
};
[[nodiscard]] SpecialTokens special_tokens(const GgufView& gguf);

/// tokenizer.ggml.tokens. Throws UserError if it is missing.
[[nodiscard]] const std::vector<std::string>& vocabulary_of(const GgufView& gguf);

}  // namespace physarum::model
