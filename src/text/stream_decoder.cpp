#include "physarum/text/stream_decoder.hpp"

#include <utility>

#include "physarum/text/utf8.hpp"

namespace physarum::text {

namespace {

/// How many bytes at the end of `bytes` may still become a character with what follows.
std::size_t unfinished_length(std::string_view bytes) {
  constexpr std::size_t longest = 3;
  for (std::size_t length = std::min(longest, bytes.size()); length > 0; --length) {
    const auto step = first_character(bytes.substr(bytes.size() - length));
    if (step.kind == Utf8Step::Kind::incomplete && step.length == length) return length;
  }
  return 0;
}

}  // namespace

std::string StreamDecoder::push(base::TokenId id) {
  if (special_ == DecodeSpecial::skip && tokenizer_.is_special(id)) return {};
  held_.append(tokenizer_.token_bytes(id));
  const std::string unfinished = held_.substr(held_.size() - unfinished_length(held_));
  held_.resize(held_.size() - unfinished.size());
  std::string text = replace_invalid_utf8(held_);
  held_ = unfinished;
  return text;
}

std::string StreamDecoder::finish() {
  return replace_invalid_utf8(std::exchange(held_, std::string()));
}

}  // namespace physarum::text
