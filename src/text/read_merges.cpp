#include "byte_level.hpp"
#include "read_tokenizer.hpp"

namespace physarum::text {

namespace {

using nlohmann::json;

void check_model_kind(const JsonField& field) {
  field.expect_keys({"type", "dropout", "unk_token", "continuing_subword_prefix",
                     "end_of_word_suffix", "fuse_unk", "byte_fallback", "ignore_merges", "vocab",
                     "merges"});
  if (const auto type = field.find("type"); type && type->text() != "BPE") {
    type->refuse_unsupported(type->text(), "BPE");
  }
  if (const auto dropout = field.find("dropout"); dropout && dropout->value() != 0) {
    dropout->refuse("would make the tokens random", "set it to null");
  }
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (const auto text = field.find(affix); text && !text->text().empty()) {
      text->refuse_unsupported(text->text(), "null (byte-level tokenizers need none)");
    }
  }
  if (field.flag_or("byte_fallback", false)) {
    field.at("byte_fallback").refuse_unsupported("true", "false (byte-level tokenizers)");
  }
}

struct Pair {
  std::string left;
  std::string right;
};

/// A merge stands as ["a", "b"] or, in older files, as "a b".
std::optional<Pair> read_pair(const json& entry) {
  if (entry.is_array()) {
    if (entry.size() != 2 || !entry[0].is_string() || !entry[1].is_string()) return std::nullopt;
    return Pair{entry[0].get<std::string>(), entry[1].get<std::string>()};
  }
  if (!entry.is_string()) return std::nullopt;
  const auto& text = entry.get_ref<const std::string&>();
  const std::size_t space = text.find(' ');
  if (space == text.npos || text.find(' ', space + 1) != text.npos) return std::nullopt;
  return Pair{text.substr(0, space), text.substr(space + 1)};
}

base::TokenId find_token(const JsonField& merge, const std::string& name,
                         const TokenizerModel& model) {
  if (const auto bytes = from_byte_level(name)) {
    const auto found = model.id_of_bytes.find(*bytes);
    if (found != model.id_of_bytes.end()) return found->second;
  }
  merge.refuse("needs the token '" + name.substr(0, 64) + "', which is not in model.vocab",
               "export the tokenizer again");
}

void add_merge(const JsonField& merge, std::uint32_t rank, TokenizerModel& model) {
  const auto pair = read_pair(merge.value());
  if (!pair) merge.refuse("must be two tokens: [\"a\", \"b\"] or \"a b\"", "export it again");
  const auto left = find_token(merge, pair->left, model);
  const auto right = find_token(merge, pair->right, model);
  model.merges.add(left, right, {rank, find_token(merge, pair->left + pair->right, model)});
}

}  // namespace

void read_merges(const JsonField& field, const TokenizerLimits& limits, TokenizerModel& model) {
  check_model_kind(field);
  model.ignore_merges = field.flag_or("ignore_merges", false);
  const JsonField merges = field.at("merges");
  const std::size_t count = merges.items(limits.merges);
  model.merges = MergeTable(count);
  for (std::size_t i = 0; i < count; ++i) {
    const JsonField merge = merges.item(i);
    // The first line of the old text format, which some exports kept.
    const bool is_header = merge.value().is_string() &&
                           merge.value().get_ref<const std::string&>().starts_with("#version");
    if (!is_header) add_merge(merge, static_cast<std::uint32_t>(i), model);
  }
}

}  // namespace physarum::text
