#include "read_tokenizer.hpp"

#include <fstream>
#include <unordered_set>

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

std::string normalized(const TokenizerModel& model, std::string content) {
  for (const NormalForm form : model.normal_forms) {
    std::string storage;
    content = std::string(normalize(form, content, storage));
  }
  return content;
}

/// Two tokens that are looked for in the same text would be one to the search.
void refuse_twins(const std::vector<const AddedTokenEntry*>& entries,
                  const std::vector<AddedToken>& tokens) {
  std::unordered_set<std::string_view> contents;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (contents.insert(tokens[i].content).second) continue;
    entries[i]->field.refuse("is the same as another added token once both are normalised",
                             "remove one of the two");
  }
}

void set_added_tokens(const std::vector<AddedTokenEntry>& entries, TokenizerModel& model) {
  std::vector<AddedToken> raw;
  std::vector<AddedToken> in_normalized;
  std::vector<const AddedTokenEntry*> normalized_entries;
  model.special.assign(model.tokens.size(), false);
  for (const AddedTokenEntry& entry : entries) {
    const AddedToken& token = entry.token;
    const auto index = static_cast<std::size_t>(token.id);
    model.special[index] = token.special;
    model.id_of_added.emplace(token.content, token.id);
    if (!token.normalized) {
      raw.push_back(token);
      continue;
    }
    in_normalized.push_back(token);
    std::string& content = in_normalized.back().content;
    content = normalized(model, std::move(content));
    // What decoding gives back is the normalised text.
    if (model.tokens[index] == token.content) model.tokens[index] = content;
    normalized_entries.push_back(&entry);
  }
  refuse_twins(normalized_entries, in_normalized);
  model.raw_added = AddedTokenFinder(std::move(raw));
  model.normalized_added = AddedTokenFinder(std::move(in_normalized));
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
  std::vector<AddedTokenEntry> added = read_added_tokens(added_field, limits);

  const std::string config_place = std::string(where) + " (tokenizer_config.json)";
  nlohmann::json config_document = nlohmann::json::object();
  if (!config.empty()) config_document = parse_strict_json(config, config_place, limits.json_depth);
  const JsonField config_root(config_document, config_place);
  read_added_tokens_decoder(config_root, limits, added);

  auto model = std::make_shared<TokenizerModel>();
  read_vocabulary(root.at("model"), added, limits, *model);
  read_merges(root.at("model"), limits, *model);
  if (const auto field = root.find("normalizer")) model->normal_forms = read_normalizer(*field);
  model->stages = read_stages(root.at("pre_tokenizer"), limits);
  if (const auto field = root.find("post_processor")) check_post_processor(*field);
  check_decoder(root.at("decoder"));
  set_added_tokens(added, *model);
  read_token_names(config_root, *model);
  return model;
}

}  // namespace physarum::text
