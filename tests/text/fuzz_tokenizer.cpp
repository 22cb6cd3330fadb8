// A tokenizer file and a text for it, both from strangers: UserError or ids that decode to UTF-8.
// The input is tokenizer.json, a NUL, tokenizer_config.json (or nothing), a NUL, the text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "physarum/base/error.hpp"

#include "physarum/text/stream_decoder.hpp"
#include "physarum/text/tokenizer.hpp"
#include "physarum/text/utf8.hpp"

namespace {

using namespace physarum::text;

void require(bool condition) {
  if (!condition) std::abort();
}

/// Up to the next NUL, which goes too.
std::string_view take_part(std::string_view& rest) {
  const std::string_view part = rest.substr(0, rest.find('\0'));
  rest.remove_prefix(std::min(rest.size(), part.size() + 1));
  return part;
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
  const std::string_view json = take_part(rest);
  const std::string_view config = take_part(rest);
  constexpr std::size_t longest_text = 4096;
  const std::string_view text = rest.substr(0, longest_text);
  try {
    const Tokenizer tokenizer = Tokenizer::from_json(json, config, "fuzz", small_limits());
    check(tokenizer, text, SpecialTokens::parse);
    check(tokenizer, text, SpecialTokens::literal);
  } catch (const physarum::base::UserError&) {
    return 0;
  }
  return 0;
}
