#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "json_field.hpp"
#include "model.hpp"

namespace physarum::text {

/// The whole of `tokenizer.json` and, if not empty, `tokenizer_config.json`. Throws UserError that
/// names `where` and the field.
[[nodiscard]] std::shared_ptr<const TokenizerModel> read_tokenizer(std::string_view json,
                                                                   std::string_view config,
                                                                   std::string_view where,
                                                                   const TokenizerLimits& limits);

/// The file's bytes. Throws UserError if it cannot be read or is larger than the limit.
[[nodiscard]] std::string read_small_file(const std::filesystem::path& path, std::size_t limit);

// The parts, each in a file of its own; all throw UserError.

/// An added token and where it stands, for complaints about it.
struct AddedTokenEntry {
  AddedToken token;
  JsonField field;
};
[[nodiscard]] std::vector<AddedTokenEntry> read_added_tokens(const JsonField& list,
                                                             const TokenizerLimits& limits);
/// Adds those of `tokenizer_config.json` and lets its properties replace those of the same token,
/// as the reference does when it loads both files.
void read_added_tokens_decoder(const JsonField& config, const TokenizerLimits& limits,
                               std::vector<AddedTokenEntry>& entries);

/// Fills tokens, ids and byte tokens from the field `model` and checks them against the added
/// tokens.
void read_vocabulary(const JsonField& field, const std::vector<AddedTokenEntry>& added,
                     const TokenizerLimits& limits, TokenizerModel& model);
/// Fills merges, and what stands for unknown bytes. Needs the vocabulary.
void read_merges(const JsonField& field, const TokenizerLimits& limits, TokenizerModel& model);

[[nodiscard]] std::vector<NormalForm> read_normalizer(const JsonField& field);
[[nodiscard]] std::vector<Stage> read_stages(const JsonField& pre_tokenizer,
                                             const TokenizerLimits& limits);
/// Refuses what would change ids or text; what only adds special tokens is left to the caller.
void check_post_processor(const JsonField& field);
void check_decoder(const JsonField& field);
/// Names of the end, begin, padding and unknown token, from `tokenizer_config.json`.
void read_token_names(const JsonField& config, TokenizerModel& model);

}  // namespace physarum::text
