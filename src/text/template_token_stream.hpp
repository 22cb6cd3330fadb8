#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "template_lexer.hpp"

namespace physarum::text::jinja {

/// The tokens of a template, read from the front.
class TokenStream {
 public:
  TokenStream(std::vector<Token> tokens, std::string_view name)
      : tokens_(std::move(tokens)), name_(name) {}

  [[nodiscard]] const Token& current() const { return tokens_[at_]; }
  [[nodiscard]] const Token& next() const {
    return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_];
  }
  [[nodiscard]] bool at(Token::Kind kind) const { return current().kind == kind; }
  [[nodiscard]] bool at_sign(std::string_view sign) const {
    return is(current(), Token::Kind::sign, sign);
  }
  [[nodiscard]] bool at_name(std::string_view name) const {
    return is(current(), Token::Kind::name, name);
  }

  Token take() { return at(Token::Kind::end) ? current() : std::move(tokens_[at_++]); }
  bool skip_sign(std::string_view sign) { return at_sign(sign) && (take(), true); }
  bool skip_name(std::string_view name) { return at_name(name) && (take(), true); }

  void expect_sign(std::string_view sign) {
    if (!skip_sign(sign)) fail_expected("'" + std::string(sign) + "'");
  }
  void expect_name(std::string_view name) {
    if (!skip_name(name)) fail_expected("'" + std::string(name) + "'");
  }
  Token expect(Token::Kind kind, std::string_view what) {
    if (!at(kind)) fail_expected(what);
    return take();
  }

  [[noreturn]] void fail(Position where, std::string_view what,
                         std::string_view mend = "mend the template") const {
    refuse(name_, where, what, mend);
  }
  [[noreturn]] void fail_lacking(Position where, std::string_view what) const {
    refuse(name_, where, std::string(what) + " is not supported in chat templates here",
           "write the template without it; docs/chat_templates.md lists what there is");
  }
  [[noreturn]] void fail_expected(std::string_view what) const {
    fail(current().at, "expected " + std::string(what) + ", got " + describe(current()));
  }

  static bool is(const Token& token, Token::Kind kind, std::string_view text) {
    return token.kind == kind && token.text == text;
  }
  static std::string describe(const Token& token);

 private:
  std::vector<Token> tokens_;
  std::string_view name_;
  std::size_t at_ = 0;
};

}  // namespace physarum::text::jinja
