// A tokenizer file and a text for it, both from strangers: UserError or ids that decode to UTF-8.
// An input that begins with '{' is tokenizer.json, a NUL, tokenizer_config.json (or nothing), a
// NUL, the text. Nearly all changes at random make that no JSON. All other inputs are parts from
// which a good file is made: a line of letters (see file_from_parts), a line with a pattern, a line
// with added tokens ("flags:content", parted by '|'), and the text.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "physarum/base/error.hpp"

#include "physarum/text/stream_decoder.hpp"
#include "physarum/text/tokenizer.hpp"
#include "physarum/text/utf8.hpp"

namespace {

using namespace physarum::text;
using nlohmann::json;

void require(bool condition) {
  if (!condition) std::abort();
}

/// Up to the next `end`, which goes too.
std::string_view take_until(char end, std::string_view& rest) {
  const std::string_view part = rest.substr(0, rest.find(end));
  rest.remove_prefix(std::min(rest.size(), part.size() + 1));
  return part;
}

bool has(std::string_view letters, char letter) { return letters.find(letter) != letters.npos; }

/// Without empty ones, and with the vocabulary's id if it has the token: most lines then do.
json added_tokens(std::string_view line, const json& vocabulary) {
  json tokens = json::array();
  int next_id = static_cast<int>(vocabulary.size());
  while (!line.empty()) {
    std::string_view rest = take_until('|', line);
    const std::string_view flags = take_until(':', rest);
    if (rest.empty()) continue;
    const auto known = vocabulary.find(rest);
    tokens.push_back({{"id", known == vocabulary.end() ? next_id++ : known->get<int>()},
                      {"content", rest},
                      {"single_word", has(flags, 'w')},
                      {"lstrip", has(flags, 'l')},
                      {"rstrip", has(flags, 'r')},
                      {"normalized", has(flags, 'n')},
                      {"special", has(flags, 's')}});
  }
  return tokens;
}

json stages(std::string_view letters, std::string_view pattern) {
  constexpr const char* behaviors[] = {"Removed", "Isolated", "MergedWithPrevious",
                                       "MergedWithNext", "Contiguous"};
  json list = json::array();
  if (has(letters, 'D')) list.push_back({{"type", "Digits"}, {"individual_digits", true}});
  for (int i = 0; i < 5; ++i) {
    if (!has(letters, static_cast<char>('0' + i))) continue;
    list.push_back({{"type", "Split"},
                    {"pattern", {{has(letters, 's') ? "String" : "Regex", pattern}}},
                    {"behavior", behaviors[i]},
                    {"invert", has(letters, 'v')}});
  }
  list.push_back({{"type", "ByteLevel"},
                  {"add_prefix_space", has(letters, 'p')},
                  {"use_regex", has(letters, 'g')}});
  return {{"type", "Sequence"}, {"pretokenizers", list}};
}

/// Letters: 0 to 4 behaviours of a Split each, s String, v invert, D Digits, p a space in front,
/// g ByteLevel's own pattern, c d k normal forms, i ignore_merges, u an unknown token, f fuse it.
std::string file_from_parts(std::string_view letters, std::string_view pattern,
                            std::string_view added) {
  json vocabulary;
  int next_id = 0;
  for (const char* token : {"a", "b", "c", "\u0120", "<", ">", "1", "2", "\u00C3", "\u00A9", "ab",
                            "abc", "\u0120a", "12", "\u00C3\u00A9"}) {
    vocabulary[token] = next_id++;
  }
  json forms = json::array();
  if (has(letters, 'c')) forms.push_back({{"type", "NFC"}});
  if (has(letters, 'd')) forms.push_back({{"type", "NFD"}});
  if (has(letters, 'k')) forms.push_back({{"type", "NFKC"}});
  const json file = {{"added_tokens", added_tokens(added, vocabulary)},
                     {"normalizer", {{"type", "Sequence"}, {"normalizers", forms}}},
                     {"pre_tokenizer", stages(letters, pattern)},
                     {"decoder", {{"type", "ByteLevel"}}},
                     {"model",
                      {{"vocab", vocabulary},
                       {"merges", {"a b", "ab c", "\u0120 a", "1 2", "\u00C3 \u00A9"}},
                       {"unk_token", has(letters, 'u') ? json("c") : json()},
                       {"fuse_unk", has(letters, 'f')},
                       {"ignore_merges", has(letters, 'i')}}}};
  return file.dump(-1, ' ', false, json::error_handler_t::replace);
}

void check(const Tokenizer& tokenizer, std::string_view text, SpecialTokens special) {
  const auto ids = tokenizer.encode(text, special);
  for (const auto id : ids) require(id >= 0 && id < tokenizer.vocab_size());
  const std::string decoded = tokenizer.decode(ids, DecodeSpecial::keep);
  require(!find_invalid_utf8(decoded));
  StreamDecoder decoder(tokenizer, DecodeSpecial::keep);
  std::string streamed;
  for (const auto id : ids) streamed += decoder.push(id);
  streamed += decoder.finish();
  require(streamed == decoded);
  require(tokenizer.encode(text, special) == ids);
}

/// Small limits keep a round short; that the large ones hold is the same code.
TokenizerLimits small_limits() {
  TokenizerLimits limits;
  limits.tokens = 4096;
  limits.pattern_bytes = 512;
  limits.stages = 8;
  return limits;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  std::string file;
  std::string_view config;
  if (rest.starts_with('{')) {
    file = take_until('\0', rest);
    config = take_until('\0', rest);
  } else {
    const std::string_view letters = take_until('\n', rest);
    const std::string_view pattern = take_until('\n', rest);
    const std::string_view added = take_until('\n', rest);
    file = file_from_parts(letters, pattern, added);
  }
  constexpr std::size_t longest_text = 4096;
  const std::string_view text = rest.substr(0, longest_text);
  try {
    const Tokenizer tokenizer = Tokenizer::from_json(file, config, "fuzz", small_limits());
    check(tokenizer, text, SpecialTokens::parse);
    check(tokenizer, text, SpecialTokens::literal);
  } catch (const physarum::base::UserError&) {
    return 0;
  }
  return 0;
}
