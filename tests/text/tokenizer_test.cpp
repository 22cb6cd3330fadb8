#include "physarum/text/tokenizer.hpp"

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"

#include "physarum/text/stream_decoder.hpp"

namespace physarum::text {
namespace {

using base::TokenId;

Tokenizer builtin() {
  return Tokenizer::from_file(std::string(PHYSARUM_INPUTS) + "/model-small/tokenizer.json");
}

TEST(BuiltinTokenizer, has_512_tokens_and_names_its_special_ones) {
  const Tokenizer tokenizer = builtin();
  EXPECT_EQ(tokenizer.vocab_size(), 512);
  EXPECT_EQ(tokenizer.eos(), tokenizer.token_id("<|im_end|>"));
  EXPECT_EQ(tokenizer.bos(), tokenizer.token_id("<|endoftext|>"));
  EXPECT_EQ(tokenizer.pad(), tokenizer.token_id("<|pad|>"));
  EXPECT_TRUE(tokenizer.is_special(*tokenizer.eos()));
  EXPECT_FALSE(tokenizer.is_special(*tokenizer.token_id("a")));
  EXPECT_FALSE(tokenizer.token_id("no such token"));
}

TEST(BuiltinTokenizer, gives_arithmetic_one_token_a_character) {
  const Tokenizer tokenizer = builtin();
  for (int a = 0; a < 100; ++a) {
    for (int b = 0; b < 100; b += 7) {
      for (const char op : {'+', '-', '*', '/'}) {
        const std::string problem = std::to_string(a) + op + std::to_string(b) + "=";
        EXPECT_EQ(tokenizer.encode(problem, SpecialTokens::literal).size(), problem.size());
      }
    }
  }
}

TEST(Tokenizer, treats_special_names_in_foreign_text_as_text) {
  const Tokenizer tokenizer = builtin();
  const std::string text = "a<|im_end|>";
  EXPECT_EQ(tokenizer.encode(text, SpecialTokens::parse).size(), 2U);
  const auto literal = tokenizer.encode(text, SpecialTokens::literal);
  EXPECT_EQ(std::count(literal.begin(), literal.end(), *tokenizer.eos()), 0);
  EXPECT_EQ(tokenizer.decode(literal), text);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(text, SpecialTokens::parse)), "a");
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(text, SpecialTokens::parse), DecodeSpecial::keep),
            text);
}

TEST(Tokenizer, refuses_text_that_is_not_utf8) {
  const Tokenizer tokenizer = builtin();
  EXPECT_THROW(static_cast<void>(tokenizer.encode("abc\xff", SpecialTokens::parse)),
               base::UserError);
}

TEST(Tokenizer, ignores_ids_beyond_the_vocabulary_and_holds_negative_ones_for_a_mistake) {
  const Tokenizer tokenizer = builtin();
  const std::vector<TokenId> ids = {*tokenizer.token_id("a"), 512, 1 << 30,
                                    *tokenizer.token_id("b")};
  EXPECT_EQ(tokenizer.decode(ids), "ab");
  EXPECT_TRUE(tokenizer.token_bytes(512).empty());
  EXPECT_THROW(static_cast<void>(tokenizer.decode(std::vector<TokenId>{-1})),
               base::ContractViolation);
}

TEST(Tokenizer, is_copied_and_moved_as_a_value) {
  Tokenizer first = builtin();
  const auto ids = first.encode("How many?", SpecialTokens::parse);
  Tokenizer second = first;
  EXPECT_EQ(second.encode("How many?", SpecialTokens::parse), ids);
  Tokenizer third = std::move(first);
  EXPECT_EQ(third.encode("How many?", SpecialTokens::parse), ids);
  second = third;
  third = std::move(second);
  EXPECT_EQ(third.encode("How many?", SpecialTokens::parse), ids);
}

// One word of a megabyte, and white space that makes patterns go back: time must stay near linear.
TEST(Tokenizer, copes_with_very_long_words_and_gaps) {
  const Tokenizer tokenizer = builtin();
  for (const std::string unit : {"a", " ", "\n", "!", "he", "\u00e9"}) {
    std::string text;
    while (text.size() < 1000000) text += unit;
    text += "x";
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text, SpecialTokens::parse)), text);
  }
}

TEST(Tokenizer, gives_the_same_ids_once_its_memory_of_words_overflows) {
  const Tokenizer tokenizer = builtin();
  const auto before = tokenizer.encode("Calculate the sum", SpecialTokens::parse);
  std::string words;
  for (int i = 0; i < 70000; ++i) {
    words += " w";
    for (int rest = i; rest > 0; rest /= 26) words += static_cast<char>('a' + rest % 26);
  }
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(words, SpecialTokens::parse)), words);
  EXPECT_EQ(tokenizer.encode("Calculate the sum", SpecialTokens::parse), before);
}

TEST(StreamDecoder, holds_back_a_character_until_it_is_whole) {
  const Tokenizer tokenizer = builtin();
  StreamDecoder decoder(tokenizer);
  const auto ids = tokenizer.encode("\U0001f600", SpecialTokens::parse);
  ASSERT_EQ(ids.size(), 4U);
  EXPECT_EQ(decoder.push(ids[0]), "");
  EXPECT_EQ(decoder.push(ids[1]), "");
  EXPECT_EQ(decoder.push(ids[2]), "");
  EXPECT_EQ(decoder.push(ids[3]), "\U0001f600");
  EXPECT_EQ(decoder.finish(), "");
}

TEST(StreamDecoder, marks_what_never_becomes_whole) {
  const Tokenizer tokenizer = builtin();
  StreamDecoder decoder(tokenizer);
  const auto ids = tokenizer.encode("\U0001f600", SpecialTokens::parse);
  EXPECT_EQ(decoder.push(ids[0]), "");
  EXPECT_EQ(decoder.push(*tokenizer.token_id("a")), "\uFFFDa");
  EXPECT_EQ(decoder.push(ids[0]), "");
  EXPECT_EQ(decoder.push(*tokenizer.eos()), "");
  EXPECT_EQ(decoder.finish(), "\uFFFD");
  EXPECT_EQ(decoder.finish(), "");
}

}  // namespace
}  // namespace physarum::text
