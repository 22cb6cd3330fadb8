#include "normalize.hpp"

#include <gtest/gtest.h>
#include <utf8proc.h>

#include "physarum/base/philox.hpp"

#include "physarum/text/utf8.hpp"

#include "unicode_tables.hpp"

namespace physarum::text {
namespace {

std::string nfc(const std::string& text) {
  std::string storage;
  return std::string(normalize(NormalForm::nfc, text, storage));
}

/// The library over the whole text, without our short cuts.
std::string slowly(const std::string& text) {
  std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> mapped(
      utf8proc_NFC(reinterpret_cast<const utf8proc_uint8_t*>(text.c_str())), &std::free);
  return reinterpret_cast<const char*>(mapped.get());
}

TEST(Normalize, leaves_a_text_alone_that_is_in_the_form) {
  for (const std::string text : {"plain", "é ü", "中文 한국어 й", "😀\U00031350"}) {
    std::string storage = "untouched";
    EXPECT_EQ(normalize(NormalForm::nfc, text, storage).data(), text.data());
    EXPECT_EQ(storage, "untouched");
  }
}

TEST(Normalize, knows_the_four_forms) {
  std::string storage;
  const std::string text = "\u00C5\u0041\u030A\uFB01";
  EXPECT_EQ(normalize(NormalForm::nfc, text, storage), "\u00C5\u00C5\uFB01");
  EXPECT_EQ(normalize(NormalForm::nfd, text, storage), "A\u030AA\u030A\uFB01");
  EXPECT_EQ(normalize(NormalForm::nfkc, text, storage), "\u00C5\u00C5fi");
  EXPECT_EQ(normalize(NormalForm::nfkd, text, storage), "A\u030AA\u030Afi");
}

// U+08CA is a mark since Unicode 14: the reference neither moves it nor moves others past it.
TEST(Normalize, passes_on_what_the_reference_does_not_know) {
  EXPECT_EQ(nfc("a\u0301\u0323"), "\u1EA1\u0301");
  EXPECT_EQ(nfc("a\u08CA\u0323"), "a\u08CA\u0323");
  EXPECT_EQ(nfc("\u08CA\u0301\u0323"), "\u08CA\u0323\u0301");
  EXPECT_EQ(nfc("\U00011935\U00011930"), "\U00011935\U00011930");
}

TEST(Normalize, agrees_with_the_library_on_every_character) {
  for (char32_t c = 1; c < 0x110000; ++c) {
    if ((c >= 0xD800 && c < 0xE000) || is_beyond_normalizer(c)) continue;
    std::string text = "e";
    append_utf8(text, c);
    text += "\u0301\u0323";
    append_utf8(text, c);
    ASSERT_EQ(nfc(text), slowly(text)) << static_cast<std::uint32_t>(c);
  }
}

TEST(Normalize, agrees_with_the_library_on_random_texts) {
  constexpr char32_t pool[] = {'a',    'e',    ' ',    0xE9,    0x300,   0x301,   0x323,   0x345,
                               0x5B0,  0x94D,  0x9BE,  0x9C7,   0x1100,  0x1161,  0x11A8,  0xAC00,
                               0x3099, 0x304B, 0x212B, 0x1E69,  0x226E,  0x338,   0x4E2D,  0xF900,
                               0x102E, 0x1025, 0xDCA,  0x1D15E, 0x1D165, 0x2F800, 0x1F600, 0x307};
  const base::RandomStream stream(5, base::StreamKind::test);
  for (std::uint64_t round = 0; round < 20000; ++round) {
    std::string text;
    const auto length = stream.below(12, round, 0);
    for (std::uint32_t i = 1; i <= length; ++i) {
      append_utf8(text, pool[stream.below(std::size(pool), round, i)]);
    }
    ASSERT_EQ(nfc(text), slowly(text)) << testing::PrintToString(text);
  }
}

}  // namespace
}  // namespace physarum::text
