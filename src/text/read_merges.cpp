#include <algorithm>

#include "byte_level.hpp"
#include "read_tokenizer.hpp"

namespace physarum::text {

namespace {

using nlohmann::json;

void check_model_kind(const JsonField& field, bool lacks_bytes) {
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
  // With a token for each byte there is nothing to fall back from.
  if (field.flag_or("byte_fallback", false) && lacks_bytes) {
    field.at("byte_fallback")
        .refuse("is true while model.vocab lacks tokens for bytes, which is not supported",
                "use a byte-level tokenizer with all 256 bytes");
  }
}

struct Pair {
  std::string_view left;
  std::string_view right;
};

/// A merge stands as ["a", "b"] or, in older files, as "a b".
std::optional<Pair> read_pair(const json& entry) {
  if (entry.is_array()) {
    if (entry.size() != 2 || !entry[0].is_string() || !entry[1].is_string()) return std::nullopt;
    return Pair{entry[0].get_ref<const std::string&>(), entry[1].get_ref<const std::string&>()};
  }
  if (!entry.is_string()) return std::nullopt;
  const std::string_view text = entry.get_ref<const std::string&>();
  const std::size_t space = text.find(' ');
  if (space == text.npos || text.find(' ', space + 1) != text.npos) return std::nullopt;
  return Pair{text.substr(0, space), text.substr(space + 1)};
}

/// Adds merges one by one. There are hundreds of thousands: the place of one is only made for a
/// complaint about it.
class MergeReader {
 public:
  MergeReader(const JsonField& merges, TokenizerModel& model) : merges_(merges), model_(model) {}

  void add(std::size_t index) {
    const auto pair = read_pair(merges_.value()[index]);
    if (!pair) {
      merges_.item(index).refuse("must be two tokens: [\"a\", \"b\"] or \"a b\"",
                                 "export it again");
    }
    joined_.clear();
    const auto left = find(index, pair->left, 0);
    const auto right = find(index, pair->right, joined_.size());
    const auto joined = model_.made_by_merging.find(model_.tokens, joined_);
    if (!joined) refuse(index, std::string(pair->left) + std::string(pair->right));
    model_.merges.add(left, right, {static_cast<std::uint32_t>(index), *joined});
  }

 private:
  /// The token `name`, whose bytes go behind the first `begin` of the joined token.
  base::TokenId find(std::size_t index, std::string_view name, std::size_t begin) {
    if (append_from_byte_level(name, joined_)) {
      const std::string_view bytes = std::string_view(joined_).substr(begin);
      if (const auto id = model_.made_by_merging.find(model_.tokens, bytes)) return *id;
    }
    refuse(index, name);
  }

  [[noreturn]] void refuse(std::size_t index, std::string_view name) const {
    merges_.item(index).refuse(
        "needs the token '" + std::string(name.substr(0, 64)) + "', which is not in model.vocab",
        "export the tokenizer again");
  }

  const JsonField& merges_;
  TokenizerModel& model_;
  std::string joined_;
};

/// The first line of the old text format, which some exports kept.
bool is_header(const json& merge) {
  return merge.is_string() && merge.get_ref<const std::string&>().starts_with("#version");
}

/// What stands for bytes that the vocabulary lacks.
void read_unknown(const JsonField& field, TokenizerModel& model) {
  const auto name = field.find("unk_token");
  if (!name) return;
  const auto bytes = from_byte_level(name->text());
  if (bytes) model.unknown = model.made_by_merging.find(model.tokens, *bytes);
  if (!model.unknown) {
    name->refuse("names '" + name->text().substr(0, 64) + "', which is not in model.vocab",
                 "name a token of model.vocab, or set it to null to leave out unknown bytes");
  }
  model.fuse_unknown = field.flag_or("fuse_unk", false);
}

}  // namespace

void read_merges(const JsonField& field, const TokenizerLimits& limits, TokenizerModel& model) {
  const auto& bytes = model.byte_tokens;
  const bool lacks_bytes = std::find(bytes.begin(), bytes.end(), -1) != bytes.end();
  check_model_kind(field, lacks_bytes);
  if (lacks_bytes) read_unknown(field, model);
  model.ignore_merges = field.flag_or("ignore_merges", false);
  const JsonField merges = field.at("merges");
  const std::size_t count = merges.items(limits.merges);
  model.merges = MergeTable(count);
  MergeReader reader(merges, model);
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_header(merges.value()[i])) reader.add(i);
  }
}

}  // namespace physarum::text
