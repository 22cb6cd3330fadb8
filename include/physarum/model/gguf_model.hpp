#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "physarum/model/gguf.hpp"

namespace physarum::model {

/// A parsed GGUF file: its header and all of its bytes; nothing is owned.
struct GgufView {
  const GgufHeader& header;
  std::span<const std::byte> file;
  std::string_view where;  ///< for messages
};

/// The config.json of the model in a GGUF file of architecture llama, qwen2 or qwen3, for
/// ModelConfig::from_json(). Throws UserError that names the key for whatever is missing, out of
/// range or not supported; a key of the architecture that is not known is refused, because what it
/// asks for would be left out.
[[nodiscard]] std::string gguf_config_json(const GgufView& gguf);

/// The files of a Hugging Face directory that say how to make tokens of text and text of tokens, by
/// name: tokenizer.json, tokenizer_config.json, generation_config.json and, if the file has a chat
/// template, chat_template.jinja. Byte-level BPE (tokenizer.ggml.model gpt2) with the
/// pre-tokenizers that docs/import.md lists; others are refused by name. Throws UserError.
[[nodiscard]] std::map<std::string, std::string> gguf_tokenizer_files(const GgufView& gguf);

}  // namespace physarum::model
