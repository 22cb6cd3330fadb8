// What tests/parity/tokenizer_parity.py asks of our tokenizer.
//
//   tokenizer_driver encode TOKENIZER_JSON < texts > answers
//   tokenizer_driver speed TOKENIZER_JSON TEXT_FILE [SECONDS]
//
// encode: each text is a 32-bit length and its bytes (little endian, as all numbers). The answer to
// each, once with special tokens parsed and once with them literal: the number of ids, the ids, the
// number of bytes that they decode to, the bytes. Ends with code 1 if decoding token by token gives
// another text.
// speed: seconds to load the file (best of three), and megabytes a second of one thread on the
// text, cut at line ends into pieces of 64 KiB: median of as many rounds as go into SECONDS
// (default 5).
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "physarum/base/error.hpp"

#include "physarum/text/stream_decoder.hpp"
#include "physarum/text/tokenizer.hpp"

namespace {

using namespace physarum::text;
using Clock = std::chrono::steady_clock;
using Ids = std::vector<physarum::base::TokenId>;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void put(std::uint32_t number) {
  std::cout.write(reinterpret_cast<const char*>(&number), sizeof number);
}

bool streams_alike(const Tokenizer& tokenizer, const Ids& ids, const std::string& whole) {
  StreamDecoder decoder(tokenizer, DecodeSpecial::keep);
  std::string text;
  for (const auto id : ids) text += decoder.push(id);
  text += decoder.finish();
  return text == whole;
}

int encode(const Tokenizer& tokenizer) {
  std::uint32_t length = 0;
  while (std::cin.read(reinterpret_cast<char*>(&length), sizeof length)) {
    std::string text(length, '\0');
    if (!std::cin.read(text.data(), length)) return 2;
    for (const auto special : {SpecialTokens::parse, SpecialTokens::literal}) {
      const Ids ids = tokenizer.encode(text, special);
      const std::string decoded = tokenizer.decode(ids, DecodeSpecial::keep);
      if (!streams_alike(tokenizer, ids, decoded)) return 1;
      put(static_cast<std::uint32_t>(ids.size()));
      for (const auto id : ids) put(static_cast<std::uint32_t>(id));
      put(static_cast<std::uint32_t>(decoded.size()));
      std::cout << decoded;
    }
  }
  return 0;
}

std::vector<std::string_view> cut(std::string_view text) {
  constexpr std::size_t piece_bytes = std::size_t{64} << 10;
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    std::size_t end = std::min(piece_bytes, text.size());
    if (const auto line = text.rfind('\n', end - 1); end < text.size() && line != text.npos) {
      end = line + 1;
    }
    pieces.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return pieces;
}

int speed(const char* path, const char* text_path, double budget_s) {
  double load_s = 1e9;
  for (int i = 0; i < 3; ++i) {
    const auto begin = Clock::now();
    static_cast<void>(Tokenizer::from_file(path));
    load_s = std::min(load_s, seconds_since(begin));
  }
  const Tokenizer tokenizer = Tokenizer::from_file(path);
  std::ifstream file(text_path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto pieces = cut(text);
  const double megabytes = static_cast<double>(text.size()) / 1e6;
  std::vector<double> rates;
  double first = 0;
  double decode_rate = 0;
  std::size_t tokens = 0;
  const auto begin = Clock::now();
  while (rates.size() < 3 || seconds_since(begin) < budget_s) {
    std::vector<Ids> ids;
    const auto round = Clock::now();
    for (const auto piece : pieces) ids.push_back(tokenizer.encode(piece, SpecialTokens::literal));
    rates.push_back(megabytes / seconds_since(round));
    if (rates.size() > 1) continue;
    first = rates.front();
    const auto decoding = Clock::now();
    for (const Ids& piece : ids) {
      tokens += piece.size();
      if (tokenizer.decode(piece).empty()) return 1;
    }
    decode_rate = megabytes / seconds_since(decoding);
  }
  std::nth_element(rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2),
                   rates.end());
  std::printf(
      "load_s %.3f encode_mb_per_s %.2f first_round_mb_per_s %.2f decode_mb_per_s %.1f "
      "tokens %zu bytes %zu\n",
      load_s, rates[rates.size() / 2], first, decode_rate, tokens, text.size());
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view command = count > 1 ? arguments[1] : "";
  try {
    if (command == "encode" && count == 3) return encode(Tokenizer::from_file(arguments[2]));
    if (command == "speed" && (count == 4 || count == 5)) {
      return speed(arguments[2], arguments[3], count == 5 ? std::atof(arguments[4]) : 5);
    }
  } catch (const physarum::base::UserError& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
  std::cerr << "usage: tokenizer_driver encode TOKENIZER_JSON\n"
               "       tokenizer_driver speed TOKENIZER_JSON TEXT_FILE [SECONDS]\n";
  return 2;
}
