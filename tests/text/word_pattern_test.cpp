// The code by hand against the general search for the same pattern.
#include "word_pattern.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "physarum/base/philox.hpp"

#include "physarum/text/utf8.hpp"

#include "regex.hpp"

namespace physarum::text {
namespace {

constexpr WordPattern patterns[] = {
    WordPattern::gpt2,   WordPattern::qwen2,   WordPattern::llama3,        WordPattern::deepseek,
    WordPattern::number, WordPattern::numbers, WordPattern::three_numbers, WordPattern::east_asian};

class Word : public testing::TestWithParam<WordPattern> {
 protected:
  /// All matches in a row are the same. One text is enough to say so.
  void compare(const std::string& text) {
    for (std::size_t from = 0; from <= text.size();) {
      const auto by_hand = find_word(GetParam(), text, from);
      const auto by_search = regex_.find(text, from, scratch_);
      ASSERT_EQ(by_hand.has_value(), by_search.has_value()) << testing::PrintToString(text);
      if (!by_hand) break;
      ASSERT_EQ(by_hand->begin, by_search->begin) << testing::PrintToString(text);
      ASSERT_EQ(by_hand->end, by_search->end) << testing::PrintToString(text);
      from = by_hand->end;
    }
  }

  Regex regex_{pattern_text(GetParam()), "here"};
  RegexScratch scratch_;
};

TEST_P(Word, is_known_by_its_text) {
  EXPECT_EQ(known_pattern(pattern_text(GetParam())), GetParam());
  EXPECT_FALSE(known_pattern(std::string(pattern_text(GetParam())) + " "));
}

// One character of each kind that any of the patterns tells apart.
const std::vector<std::string> kinds = {"a", "s", "'", " ",      "\n",     "\r",         "\t",
                                        "7", ".", "l", "\u0301", "\u3000", "\U0001F600", "\u4E2D"};

TEST_P(Word, agrees_on_all_short_texts) {
  constexpr std::size_t longest = 5;
  std::vector<std::size_t> digits;
  while (digits.size() <= longest) {
    std::string text;
    for (const std::size_t digit : digits) text += kinds[digit];
    ASSERT_NO_FATAL_FAILURE(compare(text));
    std::size_t at = 0;
    while (at < digits.size() && ++digits[at] == kinds.size()) digits[at++] = 0;
    if (at == digits.size()) digits.push_back(0);
  }
}

TEST_P(Word, agrees_on_every_character) {
  std::string text;
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    append_utf8(text, c);
    text += "x ";
    append_utf8(text, c);
    append_utf8(text, c);
    if (text.size() < 4096) continue;
    ASSERT_NO_FATAL_FAILURE(compare(text));
    text.clear();
  }
}

TEST_P(Word, agrees_on_random_texts) {
  const std::vector<std::string> pieces = {
      "'s",     "'S",     "'\u017F", "'re", "'VE", "'Ll", "'d",   "'l", "''", "word", "W",  "  ",
      " \n ",   "\r\n",   "\t\t",    "12",  "1",   "!?",  "_",    "$",  "-",  "é",    "ß",  "中文",
      "\u00A0", "\u2028", "\u0301",  "½",   "٣",   "😀",   "\x01", "ひ", "ア", "。",   "ne", "\x7f"};
  const base::RandomStream stream(17, base::StreamKind::test);
  for (std::uint64_t round = 0; round < 20000; ++round) {
    std::string text;
    const auto length = stream.below(14, round, 0);
    for (std::uint32_t i = 1; i <= length; ++i) {
      text += pieces[stream.below(pieces.size(), round, i)];
    }
    ASSERT_NO_FATAL_FAILURE(compare(text));
  }
}

INSTANTIATE_TEST_SUITE_P(Patterns, Word, testing::ValuesIn(patterns));

}  // namespace
}  // namespace physarum::text
