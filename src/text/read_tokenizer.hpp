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

[[nodiscard]] std::vector<AddedToken> read_added_tokens(const JsonField& list,
                                                        const TokenizerLimits& limits);

/// Fills tokens, ids, merges and byte tokens from the field `model` and checks them against the
/// added tokens.
void read_vocabulary(const JsonField& field, const JsonField& added_field,
                     const std::vector<AddedToken>& added, const TokenizerLimits& limits,
                     TokenizerModel& model);
void read_merges(const JsonField& field, const TokenizerLimits& limits, TokenizerModel& model);

[[nodiscard]] bool read_normalizer_is_nfc(const JsonField& field);
[[nodiscard]] std::vector<Stage> read_stages(const JsonField& pre_tokenizer,
                                             const TokenizerLimits& limits);
/// Refuses what would change ids or text; what only adds special tokens is left to the caller.
void check_post_processor(const JsonField& field);
void check_decoder(const JsonField& field);
/// Names of the end, begin and padding token.
void read_token_names(std::string_view config, std::string_view where,
                      const TokenizerLimits& limits, TokenizerModel& model);

}  // namespace physarum::text
