#include "physarum/text/chat_encoding.hpp"

#include <algorithm>

#include "physarum/base/error.hpp"

#include "physarum/text/utf8.hpp"

#include "chat_alignment.hpp"
#include "template_unicode.hpp"

namespace physarum::text {

/// A part of the text that is encoded in one go.
struct ChatEncoder::Cut {
  ByteRange bytes;
  SpecialTokens special;
};

namespace {

bool is_one_token(const Tokenizer& tokenizer, const std::string& text) {
  return tokenizer.encode(text, SpecialTokens::parse).size() == 1;
}

std::vector<ByteRange> assistant_ranges(const ChatPieces& pieces) {
  std::vector<ByteRange> ranges;
  std::size_t at = 0;
  for (const ChatPiece& piece : pieces) {
    const std::size_t end = at + piece.text.size();
    if (piece.is_assistant && at != end) {
      if (!ranges.empty() && ranges.back().end == at) {
        ranges.back().end = end;
      } else {
        ranges.push_back({at, end});
      }
    }
    at = end;
  }
  return ranges;
}

std::vector<bool> data_bytes(const ChatPieces& pieces) {
  std::vector<bool> is_data;
  for (const ChatPiece& piece : pieces) {
    is_data.insert(is_data.end(), piece.text.size(), piece.source == Source::from_data);
  }
  return is_data;
}

/// The ranges that overlap [begin, end), counted from begin.
std::vector<ByteRange> ranges_within(const std::vector<ByteRange>& ranges, ByteRange part) {
  std::vector<ByteRange> within;
  for (const ByteRange& range : ranges) {
    const std::size_t begin = std::max(range.begin, part.begin);
    const std::size_t end = std::min(range.end, part.end);
    if (begin < end) within.push_back({begin - part.begin, end - part.begin});
  }
  return within;
}

}  // namespace

std::vector<std::string> special_token_texts(const Tokenizer& tokenizer) {
  std::vector<std::string> texts;
  for (base::TokenId id = 0; id < tokenizer.vocab_size(); ++id) {
    if (tokenizer.is_special(id)) texts.emplace_back(tokenizer.token_bytes(id));
  }
  return texts;
}

ChatEncoder::ChatEncoder(const Tokenizer& tokenizer, SpecialTokens content)
    : tokenizer_(tokenizer), content_(content) {
  for (std::string& text : special_token_texts(tokenizer)) {
    if (text.empty() || find_invalid_utf8(text)) continue;
    const bool before = is_one_token(tokenizer_, " " + text);
    const bool behind = is_one_token(tokenizer_, text + " ");
    specials_.push_back({std::move(text), before, behind});
  }
  const auto first = [](const auto& special) {
    return static_cast<unsigned char>(special.text.front());
  };
  std::sort(specials_.begin(), specials_.end(), [&](const auto& left, const auto& right) {
    if (first(left) != first(right)) return first(left) < first(right);
    return left.text.size() > right.text.size();
  });
  for (const auto& special : specials_) ++begin_of_byte_[first(special) + 1U];
  for (std::size_t byte = 0; byte < 256; ++byte) {
    begin_of_byte_[byte + 1] += begin_of_byte_[byte];
  }
}

/// The longest special token that begins here and is all the template's. `blocked` tells that there
/// is one that is not.
const ChatEncoder::Special* ChatEncoder::find_special(std::string_view text, std::size_t at,
                                                      const std::vector<bool>& is_data,
                                                      bool& blocked) const {
  const auto byte = static_cast<unsigned char>(text[at]);
  for (std::size_t i = begin_of_byte_[byte]; i < begin_of_byte_[byte + 1U]; ++i) {
    const auto& special = specials_[i];
    if (!text.substr(at).starts_with(special.text)) continue;
    const auto begin = is_data.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = begin + static_cast<std::ptrdiff_t>(special.text.size());
    if (std::find(begin, end, true) == end) return &special;
    blocked = true;
  }
  return nullptr;
}

/// Cuts the text at the template's special tokens wherever what stands between them holds others:
/// those parts are encoded as characters, all others as they are.
std::vector<ChatEncoder::Cut> ChatEncoder::cut(const std::string& text,
                                               const std::vector<bool>& is_data) const {
  std::vector<Cut> cuts;
  std::size_t parsed_from = 0;   // not yet given to a cut
  std::size_t between_from = 0;  // behind the last special token
  bool blocked = false;
  bool space_taken = false;
  const auto close = [&](std::size_t end, bool takes_space_before) {
    if (!blocked) return;
    if (parsed_from < between_from)
      cuts.push_back({{parsed_from, between_from}, SpecialTokens::parse});
    std::size_t begin = between_from;
    std::size_t stop = end;
    const std::string_view all = text;
    if (space_taken)
      begin += jinja::strip_space(all.substr(begin, stop - begin), jinja::Ends::left).first;
    if (takes_space_before) {
      stop = begin + jinja::strip_space(all.substr(begin, stop - begin), jinja::Ends::right).second;
    }
    cuts.push_back({{begin, stop}, SpecialTokens::literal});
    parsed_from = end;
    blocked = false;
  };
  for (std::size_t at = 0; at < text.size();) {
    const auto* special = find_special(text, at, is_data, blocked);
    if (special == nullptr) {
      ++at;
      continue;
    }
    close(at, special->takes_space_before);
    at += special->text.size();
    between_from = at;
    space_taken = special->takes_space_behind;
  }
  close(text.size(), false);
  if (parsed_from < text.size()) cuts.push_back({{parsed_from, text.size()}, SpecialTokens::parse});
  return cuts;
}

ChatTokens ChatEncoder::encode(const ChatPieces& pieces) const {
  const std::string text = joined_text(pieces);
  const std::vector<ByteRange> ranges = assistant_ranges(pieces);
  std::vector<Cut> cuts = {{{0, text.size()}, SpecialTokens::parse}};
  if (content_ == SpecialTokens::literal) cuts = cut(text, data_bytes(pieces));
  ChatTokens tokens;
  for (const Cut& part : cuts) {
    const auto bytes =
        std::string_view(text).substr(part.bytes.begin, part.bytes.end - part.bytes.begin);
    const auto ids = tokenizer_.encode(bytes, part.special);
    const auto marks = mark_tokens(tokenizer_, bytes, ids, ranges_within(ranges, part.bytes));
    tokens.ids.insert(tokens.ids.end(), ids.begin(), ids.end());
    tokens.is_assistant.insert(tokens.is_assistant.end(), marks.begin(), marks.end());
  }
  return tokens;
}

}  // namespace physarum::text
