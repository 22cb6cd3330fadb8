#include "added_tokens.hpp"

#include <algorithm>

#include "physarum/base/contracts.hpp"

#include "physarum/text/utf8.hpp"

#include "character_classes.hpp"

namespace physarum::text {

namespace {

unsigned char byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

/// Offset at which the last character of a text that is not empty begins.
std::size_t last_character(std::string_view text) {
  std::size_t at = text.size() - 1;
  while (at > 0 && (byte_at(text, at) & 0xC0U) == 0x80U) --at;
  return at;
}

bool is_a(std::string_view character, unsigned bits) {
  return (character_classes()[first_character(character).code_point] & bits) != 0;
}

bool begins_with_word(std::string_view text) {
  return !text.empty() && is_a(text, character::word);
}

bool ends_with_word(std::string_view text) {
  return !text.empty() && begins_with_word(text.substr(last_character(text)));
}

bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) {
  return !ends_with_word(text.substr(0, begin)) && !begins_with_word(text.substr(end));
}

/// Back over white space, not beyond `floor`.
std::size_t skip_space_back(std::string_view text, std::size_t begin, std::size_t floor) {
  while (begin > floor) {
    const std::size_t last = last_character(text.substr(0, begin));
    if (!is_a(text.substr(last), character::space)) break;
    begin = last;
  }
  return begin;
}

/// Ends of runs of white space. A token may itself be white space, so one run can be asked many
/// times: its end is kept.
class SpaceRun {
 public:
  explicit SpaceRun(std::string_view text) : text_(text) {}

  std::size_t end_from(std::size_t at) {
    if (at >= begin_ && at < end_) return end_;
    begin_ = end_ = at;
    while (end_ < text_.size() && is_a(text_.substr(end_), character::space)) {
      end_ += first_character(text_.substr(end_)).length;
    }
    return end_;
  }

 private:
  std::string_view text_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace

AddedTokenFinder::AddedTokenFinder(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::sort(tokens_.begin(), tokens_.end(),
            [](const AddedToken& a, const AddedToken& b) { return a.content < b.content; });
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    base::expects(!tokens_[i].content.empty(), "an added token has text");
    base::expects(i == 0 || tokens_[i - 1].content != tokens_[i].content, "added tokens differ");
    is_first_byte_[byte_at(tokens_[i].content, 0)] = true;
  }
}

/// Byte by byte the tokens that can still match become fewer; they stand side by side.
const AddedToken* AddedTokenFinder::longest_at(std::string_view rest) const {
  const AddedToken* longest = nullptr;
  auto begin = tokens_.begin();
  auto end = tokens_.end();
  for (std::size_t depth = 0; depth < rest.size() && begin != end; ++depth) {
    const unsigned char byte = byte_at(rest, depth);
    begin = std::partition_point(
        begin, end, [&](const AddedToken& token) { return byte_at(token.content, depth) < byte; });
    end = std::partition_point(
        begin, end, [&](const AddedToken& token) { return byte_at(token.content, depth) == byte; });
    // What ends here stands first, and all others are longer.
    if (begin != end && begin->content.size() == depth + 1) longest = &*begin++;
  }
  return longest;
}

void AddedTokenFinder::split(std::string_view text, SpecialTokens special,
                             std::vector<Segment>& out) const {
  SpaceRun spaces(text);
  std::size_t done = 0;
  std::size_t at = 0;
  while (at < text.size() && !tokens_.empty()) {
    const AddedToken* token =
        is_first_byte_[byte_at(text, at)] ? longest_at(text.substr(at)) : nullptr;
    if (token == nullptr) {
      ++at;
      continue;
    }
    std::size_t begin = at;
    std::size_t end = at + token->content.size();
    at = end;  // also where the token does not count: its text is not looked at again
    if (token->special && special == SpecialTokens::literal) continue;
    if (token->single_word && !stands_alone(text, begin, end)) continue;
    if (token->left_strip) begin = std::max(skip_space_back(text, begin, done), done);
    if (token->right_strip) end = spaces.end_from(end);
    if (done < begin) out.push_back({text.substr(done, begin - done)});
    out.push_back({text.substr(begin, end - begin), token->id});
    done = end;
  }
  if (done < text.size()) out.push_back({text.substr(done)});
}

}  // namespace physarum::text
