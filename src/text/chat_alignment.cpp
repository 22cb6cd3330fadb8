#include "chat_alignment.hpp"

#include <algorithm>
#include <optional>

#include "physarum/base/error.hpp"

#include "normalize.hpp"
#include "template_unicode.hpp"

namespace physarum::text {

namespace {

/// The bytes of each token; nothing if the tokens are not this text. Tokens that take the white
/// space around them leave gaps.
std::optional<std::vector<ByteRange>> lay_along(const Tokenizer& tokenizer, std::string_view text,
                                                const std::vector<base::TokenId>& ids) {
  std::vector<ByteRange> places;
  places.reserve(ids.size());
  std::size_t at = 0;
  const std::size_t text_end = jinja::strip_space(text, jinja::Ends::right).second;
  for (const base::TokenId id : ids) {
    const std::string_view bytes = tokenizer.token_bytes(id);
    while (!text.substr(at).starts_with(bytes)) {
      if (at >= text.size()) return std::nullopt;
      const auto [character, length] = jinja::character_at(text, at);
      if (!jinja::is_space(character)) return std::nullopt;
      at += length;
    }
    places.push_back({at, at + bytes.size()});
    at += bytes.size();
  }
  return at < text_end ? std::nullopt : std::optional(std::move(places));
}

std::size_t normal_offset(std::string_view text, std::string_view normal, std::size_t offset) {
  std::string storage;
  const std::string_view front = normalize(NormalForm::nfc, text.substr(0, offset), storage);
  const auto [end, ignored] =
      std::mismatch(front.begin(), front.end(), normal.begin(), normal.end());
  return static_cast<std::size_t>(end - front.begin());
}

}  // namespace

std::vector<bool> mark_tokens(const Tokenizer& tokenizer, std::string_view text,
                              const std::vector<base::TokenId>& ids,
                              std::vector<ByteRange> ranges) {
  std::vector<bool> marks(ids.size(), false);
  if (ranges.empty()) return marks;
  auto places = lay_along(tokenizer, text, ids);
  std::string storage;
  if (!places) {
    const std::string_view normal = normalize(NormalForm::nfc, text, storage);
    places = lay_along(tokenizer, normal, ids);
    for (ByteRange& range : ranges) {
      range = {normal_offset(text, normal, range.begin), normal_offset(text, normal, range.end)};
    }
  }
  if (!places) {
    throw base::UserError(
        "the tokens of a rendered conversation cannot be laid along its characters",
        "the conversation beginning '" + std::string(text.substr(0, 40)) + "'",
        "bring its texts to Unicode's normal form C");
  }
  std::size_t range = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    while (range < ranges.size() && ranges[range].end <= (*places)[i].begin) ++range;
    if (range == ranges.size()) break;
    marks[i] = ranges[range].begin < (*places)[i].end;
  }
  return marks;
}

}  // namespace physarum::text
