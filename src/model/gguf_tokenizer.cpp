#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include <nlohmann/json.hpp>

#include "physarum/base/error.hpp"

#include "physarum/model/gguf_model.hpp"

#include "gguf_architecture.hpp"
#include "gguf_pre_tokenizer.hpp"
#include "gguf_tokens.hpp"

namespace physarum::model {

namespace {

using Json = nlohmann::ordered_json;

/// tokenizer.ggml.token_type
constexpr std::int64_t control = 3;
constexpr std::int64_t user_defined = 4;

[[noreturn]] void refuse(const GgufView& gguf, const std::string& what) {
  throw base::UserError(what, gguf.where,
                        "the file is damaged, or of a kind that is not supported");
}

void check_model(const GgufView& gguf) {
  const auto* name = gguf.header.text("tokenizer.ggml.model", gguf.where);
  if (name != nullptr && *name == "gpt2") return;
  throw base::UserError(name == nullptr ? "'tokenizer.ggml.model' is missing"
                                        : "'tokenizer.ggml.model' is '" + *name + "'",
                        gguf.where, "byte-level BPE (gpt2) is supported");
}

Json read_vocabulary(const GgufView& gguf) {
  const auto& tokens = vocabulary_of(gguf);
  Json vocabulary = Json::object();
  std::unordered_map<std::string_view, std::size_t> ids;
  // Filled as a sequence: looking each name up in an ordered object would take quadratic time.
  auto& members = vocabulary.get_ref<Json::object_t&>();
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    if (tokens[id].empty()) refuse(gguf, "token " + std::to_string(id) + " is empty");
    const auto [at, is_new] = ids.emplace(tokens[id], id);
    if (!is_new) {
      refuse(gguf, "tokens " + std::to_string(at->second) + " and " + std::to_string(id) +
                       " are the same");
    }
    static_cast<Json::object_t::Container&>(members).emplace_back(tokens[id], id);
  }
  return vocabulary;
}

/// "a b" to ["a", "b"].
Json read_merges(const GgufView& gguf) {
  const auto* merges = gguf.header.texts("tokenizer.ggml.merges", gguf.where);
  if (merges == nullptr) refuse(gguf, "'tokenizer.ggml.merges' is missing");
  Json pairs = Json::array();
  for (const auto& merge : *merges) {
    const auto space = merge.find(' ');
    if (space == std::string::npos || space == 0 || space + 1 == merge.size() ||
        merge.find(' ', space + 1) != std::string::npos) {
      refuse(gguf, "merge " + std::to_string(pairs.size()) + " is not two tokens and a space");
    }
    pairs.push_back(Json::array({merge.substr(0, space), merge.substr(space + 1)}));
  }
  return pairs;
}

Json added_token(std::size_t id, const std::string& content, bool special) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", special}};
}

/// Tokens that are found in text as a whole: special ones, and those that a user defined.
Json read_added_tokens(const GgufView& gguf) {
  const auto& tokens = vocabulary_of(gguf);
  Json added = Json::array();
  const auto* types = gguf.header.integers("tokenizer.ggml.token_type", gguf.where);
  if (types == nullptr) return added;
  if (types->size() != tokens.size()) {
    refuse(gguf, "'tokenizer.ggml.token_type' has " + std::to_string(types->size()) +
                     " items for " + std::to_string(tokens.size()) + " tokens");
  }
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    const auto type = (*types)[id];
    if (type == control || type == user_defined) {
      added.push_back(added_token(id, tokens[id], type == control));
    }
  }
  return added;
}

bool adds_bos(const GgufView& gguf, const PreTokenizer& pre) {
  const bool otherwise = pre.ignore_merges;  // Llama 3's files may leave it out
  const bool asked =
      gguf.header.flag("tokenizer.ggml.add_bos_token", gguf.where).value_or(otherwise);
  return asked && special_tokens(gguf).bos.has_value();
}

Json post_processor(const GgufView& gguf, const PreTokenizer& pre) {
  if (!adds_bos(gguf, pre)) return nullptr;
  const auto id = *special_tokens(gguf).bos;
  const auto& name = vocabulary_of(gguf)[static_cast<std::size_t>(id)];
  const auto special = Json{{"SpecialToken", {{"id", name}, {"type_id", 0}}}};
  const auto text = [](const char* which, int type) {
    return Json{{"Sequence", {{"id", which}, {"type_id", type}}}};
  };
  Json second = special;
  second["SpecialToken"]["type_id"] = 1;
  Json processor;
  processor["type"] = "TemplateProcessing";
  processor["single"] = Json::array({special, text("A", 0)});
  processor["pair"] = Json::array({special, text("A", 0), second, text("B", 1)});
  processor["special_tokens"][name] = {
      {"id", name}, {"ids", Json::array({id})}, {"tokens", Json::array({name})}};
  return processor;
}

std::string tokenizer_json(const GgufView& gguf, const PreTokenizer& pre) {
  Json json;
  json["version"] = "1.0";
  json["truncation"] = nullptr;
  json["padding"] = nullptr;
  json["added_tokens"] = read_added_tokens(gguf);
  json["normalizer"] = pre.normalizer;
  json["pre_tokenizer"] = pre.pre_tokenizer;
  json["post_processor"] = post_processor(gguf, pre);
  json["decoder"] = {{"type", "ByteLevel"},
                     {"add_prefix_space", true},
                     {"trim_offsets", true},
                     {"use_regex", true}};
  auto& model = json["model"];
  model["type"] = "BPE";
  model["dropout"] = nullptr;
  model["unk_token"] = nullptr;
  model["continuing_subword_prefix"] = nullptr;
  model["end_of_word_suffix"] = nullptr;
  model["fuse_unk"] = false;
  model["byte_fallback"] = false;
  model["ignore_merges"] = pre.ignore_merges;
  model["vocab"] = read_vocabulary(gguf);
  model["merges"] = read_merges(gguf);
  return json.dump() + "\n";
}

const std::string* chat_template(const GgufView& gguf) {
  return gguf.header.text("tokenizer.chat_template", gguf.where);
}

std::string tokenizer_config_json(const GgufView& gguf, const PreTokenizer& pre) {
  const auto tokens = special_tokens(gguf);
  Json json;
  const auto name = [&](const char* key, const std::optional<std::int64_t>& id) {
    if (id) json[key] = vocabulary_of(gguf)[static_cast<std::size_t>(*id)];
  };
  json["tokenizer_class"] = "PreTrainedTokenizerFast";
  json["add_bos_token"] = adds_bos(gguf, pre);
  json["add_eos_token"] =
      gguf.header.flag("tokenizer.ggml.add_eos_token", gguf.where).value_or(false);
  name("bos_token", tokens.bos);
  name("eos_token", tokens.eos);
  name("pad_token", tokens.pad);
  name("unk_token", tokens.unknown);
  json["clean_up_tokenization_spaces"] = false;
  json["model_max_length"] = gguf_count(gguf.header, "context_length", gguf.where);
  if (const auto* text = chat_template(gguf)) json["chat_template"] = *text;
  return json.dump(2) + "\n";
}

std::string generation_config_json(const GgufView& gguf) {
  const auto tokens = special_tokens(gguf);
  Json json = Json::object();
  if (tokens.bos) json["bos_token_id"] = *tokens.bos;
  if (tokens.ends.size() == 1) json["eos_token_id"] = tokens.ends.front();
  if (tokens.ends.size() > 1) json["eos_token_id"] = tokens.ends;
  if (tokens.pad) json["pad_token_id"] = *tokens.pad;
  return json.dump(2) + "\n";
}

}  // namespace

std::map<std::string, std::string> gguf_tokenizer_files(const GgufView& gguf) {
  check_model(gguf);
  const auto* name = gguf.header.text("tokenizer.ggml.pre", gguf.where);
  const auto pre = pre_tokenizer_of(name == nullptr ? "" : *name, gguf.where);
  std::map<std::string, std::string> files;
  files["tokenizer.json"] = tokenizer_json(gguf, pre);
  files["tokenizer_config.json"] = tokenizer_config_json(gguf, pre);
  files["generation_config.json"] = generation_config_json(gguf);
  if (const auto* text = chat_template(gguf)) files["chat_template.jinja"] = *text;
  return files;
}

}  // namespace physarum::model
