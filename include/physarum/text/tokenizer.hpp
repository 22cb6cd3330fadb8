#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "physarum/base/ids.hpp"

#include "physarum/text/limits.hpp"

namespace physarum::text {

struct TokenizerModel;
struct TokenizerScratch;

/// What the names of special tokens inside a text mean.
enum class SpecialTokens {
  parse,    ///< they become their one token: for templates that we wrote
  literal,  ///< they are characters like all others: for what users and models wrote
};

/// What decoding does with special tokens.
enum class DecodeSpecial { keep, skip };

/// Byte-level BPE as Hugging Face's `tokenizer.json` describes it: the same ids as their library
/// with add_special_tokens=False. Encoding a text and decoding the ids gives the (normalised) text
/// back, unless the file cuts something out (a Split that removes, a space in front, bytes without
/// a token). What is supported is in docs/tokenizer.md. Use one object from one thread at a time;
/// copies share the model and are cheap, so give each thread its own.
class Tokenizer {
 public:
  /// Reads `tokenizer.json` and, for the names of the end, begin, padding and unknown token and for
  /// added tokens, a `tokenizer_config.json` beside it if there is one. Throws UserError that names
  /// the file and the field: what is missing, malformed, inconsistent or not supported.
  [[nodiscard]] static Tokenizer from_file(const std::filesystem::path& path,
                                           const TokenizerLimits& limits = {});
  /// The same for text; `config` may be empty, `where` is the place in messages.
  [[nodiscard]] static Tokenizer from_json(std::string_view json, std::string_view config,
                                           std::string_view where,
                                           const TokenizerLimits& limits = {});

  Tokenizer(const Tokenizer& other);
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(const Tokenizer& other);
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  /// Never adds tokens that the text does not contain. Throws UserError if `text` is not UTF-8, or
  /// if a pattern of the file needs too many steps on it.
  [[nodiscard]] std::vector<base::TokenId> encode(std::string_view text,
                                                  SpecialTokens special) const;

  /// Always valid UTF-8: bytes that form no character become U+FFFD. Ids beyond the vocabulary,
  /// which a model with padded embeddings can sample, give nothing. Ids must not be negative.
  [[nodiscard]] std::string decode(std::span<const base::TokenId> ids,
                                   DecodeSpecial special = DecodeSpecial::skip) const;

  /// The bytes that one token stands for (may be part of a character); empty beyond the vocabulary.
  /// Lives as long as a copy of this tokenizer.
  [[nodiscard]] std::string_view token_bytes(base::TokenId id) const;
  [[nodiscard]] bool is_special(base::TokenId id) const;

  /// Number of ids, all of 0 … vocab_size() − 1; special tokens included.
  [[nodiscard]] std::int64_t vocab_size() const;
  /// The token that stands for exactly this text, added tokens first.
  [[nodiscard]] std::optional<base::TokenId> token_id(std::string_view text) const;
  [[nodiscard]] std::optional<base::TokenId> eos() const;
  [[nodiscard]] std::optional<base::TokenId> bos() const;
  [[nodiscard]] std::optional<base::TokenId> pad() const;
  [[nodiscard]] std::optional<base::TokenId> unk() const;

 private:
  explicit Tokenizer(std::shared_ptr<const TokenizerModel> model);
  std::shared_ptr<const TokenizerModel> model_;
  std::unique_ptr<TokenizerScratch> scratch_;
};

}  // namespace physarum::text
