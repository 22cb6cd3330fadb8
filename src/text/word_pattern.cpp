#include "word_pattern.hpp"

#include <algorithm>
#include <array>

#include "character_classes.hpp"

namespace physarum::text {

namespace {

using Byte = CharacterReader::Byte;
using namespace character;

struct Known {
  WordPattern pattern;
  std::string_view text;
};
constexpr auto known = std::to_array<Known>({
    {WordPattern::gpt2,
     R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"},
    {WordPattern::qwen2,
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
     R"(\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {WordPattern::llama3,
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
     R"(\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {WordPattern::deepseek,
     "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|"
     "[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|"
     "\\s*[\r\n]+|\\s+(?!\\S)|\\s+"},
    {WordPattern::number, R"(\p{N})"},
    {WordPattern::numbers, R"(\p{N}+)"},
    {WordPattern::three_numbers, R"(\p{N}{1,3})"},
    {WordPattern::east_asian, "[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+"},
});

bool is_ascii_letter(Byte byte) { return (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z'; }
bool is_ascii_sign(Byte byte) {
  return byte > ' ' && byte < 0x7F && !is_ascii_letter(byte) && !(byte >= '0' && byte <= '9');
}

/// The alternatives of the patterns as functions: each gives the end of its match at a place, or
/// null. None goes back further than to the last character.
class WordReader : public CharacterReader {
 public:
  using CharacterReader::CharacterReader;

  [[nodiscard]] const Byte* gpt2(const Byte* at) const {
    if (*at == '\'') {
      if (const Byte* end = contraction<false>(at)) return end;
    }
    const Byte* next = at;
    unsigned bits = classes(at, next);
    // A space goes with the run behind it.
    if (*at == ' ' && next < this->end()) {
      const Byte* behind = next;
      const unsigned following = classes(next, behind);
      if ((following & space) == 0) {
        bits = following;
        next = behind;
      }
    }
    if ((bits & letter) != 0) return skip(next, letter);
    if ((bits & number) != 0) return skip(next, number);
    if ((bits & space) == 0) return skip_others(next, letter | number | space);
    return spaces<false>(at);
  }

  template <int longest_number>
  [[nodiscard]] const Byte* cl100k(const Byte* at) const {
    if (*at == '\'') {
      if (const Byte* end = contraction<true>(at)) return end;
    }
    const Byte* next = at;
    const unsigned bits = classes(at, next);
    if ((bits & letter) != 0) return skip(next, letter);
    if ((bits & number) != 0) return number_run<longest_number>(at);
    const Byte* behind = next;
    const unsigned following = classes_or_none(next, behind);
    if ((bits & line_end) == 0 && (following & letter) != 0) return skip(behind, letter);
    if ((bits & space) == 0) return line_ends(skip_others(next, letter | number | space));
    if (*at == ' ' && next < this->end() && (following & (letter | number | space)) == 0) {
      return line_ends(skip_others(behind, letter | number | space));
    }
    return spaces<true>(at);
  }

  [[nodiscard]] const Byte* deepseek(const Byte* at) const {
    if (is_ascii_sign(*at) && at + 1 < end() && is_ascii_letter(at[1])) {
      at += 2;
      while (at < end() && is_ascii_letter(*at)) ++at;
      return at;
    }
    const Byte* next = at;
    const unsigned bits = classes(at, next);
    const Byte* behind = next;
    const unsigned following = classes_or_none(next, behind);
    if ((bits & (line_end | letter | sign)) == 0 && (following & (letter | mark)) != 0) {
      return skip(behind, letter | mark);
    }
    if ((bits & (letter | mark)) != 0) return skip(next, letter | mark);
    if (*at == ' ' && (following & sign) != 0) return line_ends(skip(behind, sign));
    if ((bits & sign) != 0) return line_ends(skip(next, sign));
    return (bits & space) != 0 ? spaces<true>(at) : nullptr;
  }

  template <int longest>
  [[nodiscard]] const Byte* number_run(const Byte* at) const {
    const Byte* const begin = at;
    const Byte* next = at;
    for (int i = 0; i != longest && at < end() && (classes(at, next) & number) != 0; ++i) at = next;
    return at == begin ? nullptr : at;
  }

  [[nodiscard]] const Byte* east_asian(const Byte* at) const {
    const Byte* const begin = at;
    const Byte* next = at;
    const auto belongs = [](char32_t c) {
      return (c >= 0x4E00 && c <= 0x9FA5) || (c >= 0x3040 && c <= 0x30FF);
    };
    while (at < end() && belongs(decode(at, next))) at = next;
    return at == begin ? nullptr : at;
  }

 private:
  /// `'s|'t|'re|'ve|'m|'ll|'d`; without regard to case also U+017F, the long s.
  template <bool any_case>
  [[nodiscard]] const Byte* contraction(const Byte* at) const {
    const auto byte = [&](int i) -> int {
      if (end() - at <= i) return 0;
      return any_case && is_ascii_letter(at[i]) ? at[i] | 0x20 : at[i];
    };
    switch (byte(1)) {
      case 's':
      case 't':
      case 'm':
      case 'd':
        return at + 2;
      case 'r':
      case 'v':
        return byte(2) == 'e' ? at + 3 : nullptr;
      case 'l':
        return byte(2) == 'l' ? at + 3 : nullptr;
      case 0xC5:
        return any_case && byte(2) == 0xBF ? at + 3 : nullptr;
      default:
        return nullptr;
    }
  }

  [[nodiscard]] const Byte* line_ends(const Byte* at) const {
    while (at < end() && (*at == '\r' || *at == '\n')) ++at;
    return at;
  }

  /// `\s+(?!\S)|\s+`: the run of white space, without its last character if a word follows and
  /// something is left. With lines, before it, `\s*[\r\n]+`: up to its last line end.
  template <bool lines>
  [[nodiscard]] const Byte* spaces(const Byte* at) const {
    const Byte* const begin = at;
    const Byte* last = at;
    const Byte* behind_line = nullptr;
    const Byte* next = at;
    while (at < end()) {
      const unsigned bits = classes(at, next);
      if ((bits & space) == 0) break;
      if ((bits & line_end) != 0) behind_line = next;
      last = at;
      at = next;
    }
    if (lines && behind_line != nullptr) return behind_line;
    return at == end() || last == begin ? at : last;
  }
};

/// The first place from `from` on where `match_at` finds something.
template <class MatchAt>
std::optional<Match> search(const WordReader& reader, std::string_view text, std::size_t from,
                            MatchAt match_at) {
  const auto* const begin = reinterpret_cast<const Byte*>(text.data());
  const Byte* at = begin + from;
  while (at < reader.end()) {
    if (const Byte* end = match_at(at)) {
      return Match{static_cast<std::size_t>(at - begin), static_cast<std::size_t>(end - begin)};
    }
    const Byte* next = at;
    WordReader::decode(at, next);
    at = next;
  }
  return std::nullopt;
}

}  // namespace

std::optional<WordPattern> known_pattern(std::string_view pattern) {
  const auto found = std::find_if(known.begin(), known.end(),
                                  [&](const Known& entry) { return entry.text == pattern; });
  return found == known.end() ? std::nullopt : std::optional(found->pattern);
}

std::string_view pattern_text(WordPattern pattern) {
  return std::find_if(known.begin(), known.end(),
                      [&](const Known& entry) { return entry.pattern == pattern; })
      ->text;
}

std::optional<Match> find_word(WordPattern pattern, std::string_view text, std::size_t from) {
  const WordReader reader(text);
  switch (pattern) {
    case WordPattern::gpt2:
      return search(reader, text, from, [&](const Byte* at) { return reader.gpt2(at); });
    case WordPattern::qwen2:
      return search(reader, text, from, [&](const Byte* at) { return reader.cl100k<1>(at); });
    case WordPattern::llama3:
      return search(reader, text, from, [&](const Byte* at) { return reader.cl100k<3>(at); });
    case WordPattern::deepseek:
      return search(reader, text, from, [&](const Byte* at) { return reader.deepseek(at); });
    case WordPattern::number:
      return search(reader, text, from, [&](const Byte* at) { return reader.number_run<1>(at); });
    case WordPattern::numbers:
      return search(reader, text, from, [&](const Byte* at) { return reader.number_run<-1>(at); });
    case WordPattern::three_numbers:
      return search(reader, text, from, [&](const Byte* at) { return reader.number_run<3>(at); });
    default:
      return search(reader, text, from, [&](const Byte* at) { return reader.east_asian(at); });
  }
}

}  // namespace physarum::text
