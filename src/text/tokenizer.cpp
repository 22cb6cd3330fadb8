#include "physarum/text/tokenizer.hpp"

#include <array>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"

#include "physarum/text/utf8.hpp"

#include "model.hpp"
#include "normalize.hpp"
#include "read_tokenizer.hpp"
#include "word_cache.hpp"

namespace physarum::text {

struct TokenizerScratch {
  SplitScratch split;
  MergeScratch merge;
  std::vector<Segment> raw_segments;
  std::vector<Segment> segments;
  std::array<std::string, 2> normalized;  // in turns: one form's text is the next one's input
  std::vector<base::TokenId> byte_ids;
  WordCache cache;
};

namespace {

/// One call of encode(): the model, the memory, the result.
class Encoder {
 public:
  Encoder(const TokenizerModel& model, TokenizerScratch& scratch)
      : model_(model), scratch_(scratch) {}

  std::vector<base::TokenId> encode(std::string_view text, SpecialTokens special) {
    ids_.reserve(text.size() / 3);
    scratch_.split.regex.grant_steps(text.size());
    scratch_.raw_segments.clear();
    model_.raw_added.split(text, special, scratch_.raw_segments);
    for (const Segment& segment : scratch_.raw_segments) {
      if (segment.id >= 0) {
        ids_.push_back(segment.id);
      } else {
        add_text(segment.text, special);
      }
    }
    return std::move(ids_);
  }

 private:
  void add_text(std::string_view text, SpecialTokens special) {
    std::size_t turn = 0;
    for (const NormalForm form : model_.normal_forms) {
      text = normalize(form, text, scratch_.normalized[turn++ % 2]);
    }
    scratch_.segments.clear();
    model_.normalized_added.split(text, special, scratch_.segments);
    for (const Segment& segment : scratch_.segments) {
      if (segment.id >= 0) {
        ids_.push_back(segment.id);
        continue;
      }
      for (const auto piece : split(model_.stages, segment.text, scratch_.split)) add_piece(piece);
    }
  }

  void add_piece(std::string_view piece) {
    if (piece.size() > WordCache::longest_word) return merge_piece(piece);
    if (const auto known = scratch_.cache.find(piece)) {
      ids_.insert(ids_.end(), known->begin(), known->end());
      return;
    }
    const std::size_t before = ids_.size();
    merge_piece(piece);
    scratch_.cache.put(piece, std::span(ids_).subspan(before));
  }

  void merge_piece(std::string_view piece) {
    if (model_.ignore_merges) {
      if (const auto whole = model_.made_by_merging.find(model_.tokens, piece)) {
        return ids_.push_back(*whole);
      }
    }
    scratch_.byte_ids.clear();
    bool after_unknown = false;
    for (const char c : piece) {
      const base::TokenId id = model_.byte_tokens[static_cast<unsigned char>(c)];
      if (id >= 0) {
        scratch_.byte_ids.push_back(id);
      } else if (model_.unknown && !(after_unknown && model_.fuse_unknown)) {
        scratch_.byte_ids.push_back(*model_.unknown);
      }
      after_unknown = id < 0;
    }
    merge_tokens(model_.merges, scratch_.byte_ids, scratch_.merge, ids_);
  }

  const TokenizerModel& model_;
  TokenizerScratch& scratch_;
  std::vector<base::TokenId> ids_;
};

}  // namespace

std::optional<base::TokenId> find_token(const TokenizerModel& model, std::string_view text) {
  const auto added = model.id_of_added.find(std::string(text));
  if (added != model.id_of_added.end()) return added->second;
  return model.made_by_merging.find(model.tokens, text);
}

Tokenizer::Tokenizer(std::shared_ptr<const TokenizerModel> model)
    : model_(std::move(model)), scratch_(std::make_unique<TokenizerScratch>()) {}

Tokenizer::Tokenizer(const Tokenizer& other) : Tokenizer(other.model_) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(const Tokenizer& other) { return *this = Tokenizer(other); }
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Tokenizer Tokenizer::from_file(const std::filesystem::path& path, const TokenizerLimits& limits) {
  const std::string json = read_small_file(path, limits.file_bytes);
  const auto config = path.parent_path() / "tokenizer_config.json";
  std::error_code error;
  const bool has_config = std::filesystem::exists(config, error);
  return from_json(json, has_config ? read_small_file(config, limits.file_bytes) : "",
                   path.string(), limits);
}

Tokenizer Tokenizer::from_json(std::string_view json, std::string_view config,
                               std::string_view where, const TokenizerLimits& limits) {
  return Tokenizer(read_tokenizer(json, config, where, limits));
}

std::vector<base::TokenId> Tokenizer::encode(std::string_view text, SpecialTokens special) const {
  if (const auto bad = find_invalid_utf8(text)) {
    throw base::UserError("the text is not UTF-8 at byte " + std::to_string(*bad), "text to encode",
                          "save it as UTF-8");
  }
  return Encoder(*model_, *scratch_).encode(text, special);
}

std::string Tokenizer::decode(std::span<const base::TokenId> ids, DecodeSpecial special) const {
  std::string bytes;
  for (const base::TokenId id : ids) {
    if (special == DecodeSpecial::skip && is_special(id)) continue;
    bytes.append(token_bytes(id));
  }
  if (!find_invalid_utf8(bytes)) return bytes;
  return replace_invalid_utf8(bytes);
}

std::string_view Tokenizer::token_bytes(base::TokenId id) const {
  base::expects(id >= 0, "token ids are not negative");
  const auto index = static_cast<std::size_t>(id);
  return index < model_->tokens.size() ? std::string_view(model_->tokens[index]) : "";
}

bool Tokenizer::is_special(base::TokenId id) const {
  base::expects(id >= 0, "token ids are not negative");
  const auto index = static_cast<std::size_t>(id);
  return index < model_->special.size() && model_->special[index];
}

std::int64_t Tokenizer::vocab_size() const {
  return static_cast<std::int64_t>(model_->tokens.size());
}

std::optional<base::TokenId> Tokenizer::token_id(std::string_view text) const {
  return find_token(*model_, text);
}

std::optional<base::TokenId> Tokenizer::eos() const { return model_->eos; }
std::optional<base::TokenId> Tokenizer::bos() const { return model_->bos; }
std::optional<base::TokenId> Tokenizer::pad() const { return model_->pad; }
std::optional<base::TokenId> Tokenizer::unk() const { return model_->unk; }

}  // namespace physarum::text
