#include "added_tokens.hpp"

#include <algorithm>
#include <tuple>

#include "physarum/base/contracts.hpp"

#include "physarum/text/utf8.hpp"

#include "normalize.hpp"

namespace physarum::text {

namespace {

unsigned char first_byte(std::string_view text) { return static_cast<unsigned char>(text.front()); }

/// Offset at which the last character of a text that is not empty begins.
std::size_t last_character(std::string_view text) {
  std::size_t at = text.size() - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) --at;
  return at;
}

bool begins_with_word(std::string_view text) {
  return !text.empty() && is_word_character(first_character(text).code_point);
}

bool ends_with_word(std::string_view text) {
  return !text.empty() && begins_with_word(text.substr(last_character(text)));
}

bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) {
  return !ends_with_word(text.substr(0, begin)) && !begins_with_word(text.substr(end));
}

std::size_t skip_space_back(std::string_view text, std::size_t begin) {
  while (begin > 0) {
    const std::size_t last = last_character(text.substr(0, begin));
    if (!is_white_space(first_character(text.substr(last)).code_point)) break;
    begin = last;
  }
  return begin;
}

std::size_t skip_space(std::string_view text, std::size_t end) {
  while (end < text.size()) {
    const Utf8Step step = first_character(text.substr(end));
    if (!is_white_space(step.code_point)) break;
    end += step.length;
  }
  return end;
}

}  // namespace

AddedTokenFinder::AddedTokenFinder(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  for (const AddedToken& token : tokens_) {
    base::expects(!token.content.empty(), "an added token has text");
    ++begin_of_byte_[first_byte(token.content) + 1U];
  }
  for (std::size_t i = 1; i < begin_of_byte_.size(); ++i)
    begin_of_byte_[i] += begin_of_byte_[i - 1];
  std::sort(tokens_.begin(), tokens_.end(), [](const AddedToken& a, const AddedToken& b) {
    const auto key = [](const AddedToken& token) {
      return std::tuple(first_byte(token.content),
                        -static_cast<std::int64_t>(token.content.size()));
    };
    return std::tuple_cat(key(a), std::tie(a.content)) <
           std::tuple_cat(key(b), std::tie(b.content));
  });
}

const AddedToken* AddedTokenFinder::longest_at(std::string_view rest) const {
  const std::size_t byte = first_byte(rest);
  for (std::size_t i = begin_of_byte_[byte]; i < begin_of_byte_[byte + 1]; ++i) {
    if (rest.starts_with(tokens_[i].content)) return &tokens_[i];
  }
  return nullptr;
}

void AddedTokenFinder::split(std::string_view text, SpecialTokens special,
                             std::vector<Segment>& out) const {
  std::size_t done = 0;
  std::size_t at = 0;
  while (at < text.size() && !tokens_.empty()) {
    const AddedToken* token = longest_at(text.substr(at));
    if (token == nullptr) {
      ++at;
      continue;
    }
    std::size_t begin = at;
    std::size_t end = at + token->content.size();
    at = end;  // also where the token does not count: its text is not looked at again
    if (token->special && special == SpecialTokens::literal) continue;
    if (token->single_word && !stands_alone(text, begin, end)) continue;
    if (token->left_strip) begin = std::max(skip_space_back(text, begin), done);
    if (token->right_strip) end = skip_space(text, end);
    if (done < begin) out.push_back({text.substr(done, begin - done)});
    out.push_back({text.substr(begin, end - begin), token->id});
    done = end;
  }
  if (done < text.size()) out.push_back({text.substr(done)});
}

}  // namespace physarum::text
