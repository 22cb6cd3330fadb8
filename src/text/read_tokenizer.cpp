#include "read_tokenizer.hpp"

#include <fstream>

#include "physarum/base/error.hpp"

#include "physarum/text/strict_json.hpp"

#include "normalize.hpp"

namespace physarum::text {

namespace {

void refuse_length_rules(const JsonField& root) {
  for (const char* key : {"truncation", "padding"}) {
    if (const auto field = root.find(key)) {
      field->refuse("would change the length of every text", "set it to null");
    }
  }
}

void set_added_tokens(std::vector<AddedToken> added, TokenizerModel& model) {
  std::vector<AddedToken> raw;
  std::vector<AddedToken> normalized;
  model.special.assign(model.tokens.size(), false);
  for (AddedToken& token : added) {
    const auto index = static_cast<std::size_t>(token.id);
    model.special[index] = token.special;
    model.id_of_added.emplace(model.tokens[index], token.id);
    if (token.normalized && model.to_nfc) {
      std::string storage;
      token.content = std::string(to_nfc(token.content, storage));
    }
    (token.normalized ? normalized : raw).push_back(std::move(token));
  }
  model.raw_added = AddedTokenFinder(std::move(raw));
  model.normalized_added = AddedTokenFinder(std::move(normalized));
}

void check_size(std::size_t bytes, std::string_view where, std::size_t limit) {
  if (bytes <= limit) return;
  throw base::UserError(
      "has " + std::to_string(bytes) + " bytes, at most " + std::to_string(limit) + " are allowed",
      where, "is this the right file?");
}

}  // namespace

std::string read_small_file(const std::filesystem::path& path, std::size_t limit) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    throw base::UserError("no such file", path.string(), "give the path of a tokenizer.json");
  }
  const auto size = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || !file) {
    throw base::UserError("cannot be read", path.string(), "check its permissions");
  }
  check_size(size, path.string(), limit);
  std::string bytes(size, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(size));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

std::shared_ptr<const TokenizerModel> read_tokenizer(std::string_view json, std::string_view config,
                                                     std::string_view where,
                                                     const TokenizerLimits& limits) {
  check_size(json.size(), where, limits.file_bytes);
  const nlohmann::json document = parse_strict_json(json, where, limits.json_depth);
  const JsonField root(document, std::string(where));
  root.expect_keys({"version", "truncation", "padding", "added_tokens", "normalizer",
                    "pre_tokenizer", "post_processor", "decoder", "model"});
  refuse_length_rules(root);

  const nlohmann::json no_tokens = nlohmann::json::array();
  const JsonField added_field =
      root.find("added_tokens").value_or(JsonField(no_tokens, std::string(where), "added_tokens"));
  auto model = std::make_shared<TokenizerModel>();
  std::vector<AddedToken> added = read_added_tokens(added_field, limits);
  read_vocabulary(root.at("model"), added_field, added, limits, *model);
  read_merges(root.at("model"), limits, *model);
  if (const auto field = root.find("normalizer")) model->to_nfc = read_normalizer_is_nfc(*field);
  model->stages = read_stages(root.at("pre_tokenizer"), limits);
  if (const auto field = root.find("post_processor")) check_post_processor(*field);
  check_decoder(root.at("decoder"));
  set_added_tokens(std::move(added), *model);
  if (!config.empty()) read_token_names(config, where, limits, *model);
  return model;
}

}  // namespace physarum::text
