#include "stop_strings.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"
#include "physarum/base/philox.hpp"

namespace physarum::rollout {
namespace {

using Strings = std::vector<std::string>;

/// For each piece, whether a string ends in it.
std::vector<bool> ends(const Strings& strings, const Strings& pieces) {
  const StopStrings stops(strings);
  auto progress = stops.start();
  std::vector<bool> result;
  for (const auto& piece : pieces) result.push_back(stops.advance(piece, progress));
  return result;
}

/// The same by looking through the whole text again and again.
std::vector<bool> naive_ends(const Strings& strings, const Strings& pieces) {
  std::string text;
  std::vector<bool> result;
  for (const auto& piece : pieces) {
    const auto before = text.size();
    text += piece;
    result.push_back(std::any_of(strings.begin(), strings.end(), [&](const auto& string) {
      for (auto at = text.find(string); at != std::string::npos; at = text.find(string, at + 1)) {
        if (at + string.size() > before) return true;
      }
      return false;
    }));
  }
  return result;
}

TEST(StopStrings, are_found_across_pieces) {
  EXPECT_EQ(ends({"</answer>"}, {"is 7</an", "sw", "er", ">\n", "more"}),
            (std::vector<bool>{false, false, false, true, false}));
  EXPECT_EQ(ends({"ab", "\n\n"}, {"\n", "\n", "\n", "xaby"}),
            (std::vector<bool>{false, true, true, true}));
  EXPECT_EQ(ends({"aab"}, {"a", "a", "a", "a", "b", "b"}),
            (std::vector<bool>{false, false, false, false, true, false}));
}

TEST(StopStrings, are_found_when_a_character_is_cut) {
  const std::string e_acute = "\xC3\xA9";
  EXPECT_EQ(ends({e_acute + "!"}, {"caf\xC3", "\xA9", "!"}),
            (std::vector<bool>{false, false, true}));
  // The end of another character is not its own.
  EXPECT_EQ(ends({e_acute}, {"\xC3", "\xC3", "\xA9"}), (std::vector<bool>{false, false, true}));
  EXPECT_EQ(ends({e_acute}, {"\xE2\x83", "\xA9"}), (std::vector<bool>{false, false}));
}

TEST(StopStrings, empty_pieces_and_empty_lists_find_nothing) {
  EXPECT_EQ(ends({"a"}, {"", "a", ""}), (std::vector<bool>{false, true, false}));
  EXPECT_EQ(ends({}, {"a"}), (std::vector<bool>{false}));
}

TEST(StopStrings, find_what_a_search_of_the_whole_text_finds) {
  const base::RandomStream stream(6, base::StreamKind::test);
  int found = 0;
  for (std::uint64_t round = 0; round < 300; ++round) {
    std::uint32_t draws = 0;
    // Two letters: strings that overlap themselves and each other.
    const auto word = [&](std::uint64_t most) {
      std::string result;
      const auto size = 1 + stream.below(most, round, draws++);
      while (result.size() < size) result += stream.below(2, round, draws++) == 0 ? 'a' : 'b';
      return result;
    };
    Strings strings;
    Strings pieces;
    for (int i = 0; i < 3; ++i) strings.push_back(word(9));
    for (int i = 0; i < 30; ++i) pieces.push_back(word(4));
    const auto expected = naive_ends(strings, pieces);
    ASSERT_EQ(ends(strings, pieces), expected) << "round " << round;
    found += static_cast<int>(std::count(expected.begin(), expected.end(), true));
  }
  EXPECT_GT(found, 300);
}

TEST(StopStrings, a_string_of_the_largest_size_is_found) {
  const std::string longest(1000, 'a');
  EXPECT_EQ(ends({longest}, {std::string(999, 'a'), "ba", std::string(999, 'a')}),
            (std::vector<bool>{false, false, true}));
  EXPECT_THROW(StopStrings(Strings{longest + "a"}), base::ContractViolation);
  EXPECT_THROW(StopStrings(Strings{""}), base::ContractViolation);
}

}  // namespace
}  // namespace physarum::rollout
