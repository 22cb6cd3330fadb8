#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "physarum/text/chat_template.hpp"

#include "template_ast.hpp"
#include "template_token_stream.hpp"

namespace physarum::text::jinja {

/// What both halves of the parser share: the tokens, the names, the nesting.
struct ParseState {
  TokenStream tokens;
  Program& program;
  std::size_t max_nesting;
  std::size_t nesting = 0;
  std::size_t conditions = 0;  ///< if blocks and conditional expressions around
  std::size_t loops = 0;       ///< loops around that break can leave
  std::vector<MacroDefinition*> macros;

  [[nodiscard]] NameId id_of(const std::string& name);
};

/// One more level of nesting while it lives.
class Nested {
 public:
  Nested(ParseState& state, Position at) : state_(state) {
    if (++state_.nesting > state_.max_nesting) {
      state_.tokens.fail(at, "nested deeper than " + std::to_string(state_.max_nesting),
                         "flatten the template");
    }
  }
  ~Nested() { --state_.nesting; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;

 private:
  ParseState& state_;
};

/// Counts a block or expression that is run on a condition only.
class Conditional {
 public:
  explicit Conditional(ParseState& state) : state_(state) { ++state_.conditions; }
  ~Conditional() { --state_.conditions; }
  Conditional(const Conditional&) = delete;
  Conditional& operator=(const Conditional&) = delete;

 private:
  ParseState& state_;
};

enum class InlineIf { allowed, absent };

/// Jinja's expressions, one function for each level of precedence.
class ExpressionParser {
 public:
  explicit ExpressionParser(ParseState& state) : state_(state), tokens_(state.tokens) {}

  [[nodiscard]] ExpressionPtr expression(InlineIf inline_if = InlineIf::allowed);
  /// Expressions with commas between them are a tuple. `end` is a name that ends it.
  [[nodiscard]] ExpressionPtr tuple(InlineIf inline_if = InlineIf::allowed,
                                    std::string_view end = "", bool in_parentheses = false);
  /// The filters behind a value; `input` may be null: what a block holds.
  [[nodiscard]] ExpressionPtr filters(ExpressionPtr input, bool first_without_pipe);
  [[nodiscard]] Target target(std::string_view end, bool with_namespace);

 private:
  using Level = ExpressionPtr (ExpressionParser::*)();
  [[nodiscard]] ExpressionPtr conditional();
  [[nodiscard]] ExpressionPtr either();
  [[nodiscard]] ExpressionPtr both();
  [[nodiscard]] ExpressionPtr negation();
  [[nodiscard]] ExpressionPtr comparison();
  [[nodiscard]] ExpressionPtr sum();
  [[nodiscard]] ExpressionPtr concatenation();
  [[nodiscard]] ExpressionPtr product();
  [[nodiscard]] ExpressionPtr power();
  [[nodiscard]] ExpressionPtr unary(bool with_filters);
  [[nodiscard]] ExpressionPtr with_filters() { return unary(true); }
  [[nodiscard]] ExpressionPtr primary();
  [[nodiscard]] ExpressionPtr name_or_constant(const Token& token);
  [[nodiscard]] ExpressionPtr strings();
  [[nodiscard]] ExpressionPtr list();
  [[nodiscard]] ExpressionPtr dict();
  [[nodiscard]] ExpressionPtr postfix(ExpressionPtr of);
  [[nodiscard]] ExpressionPtr filters_and_tests(ExpressionPtr of);
  [[nodiscard]] ExpressionPtr attribute(ExpressionPtr of);
  [[nodiscard]] ExpressionPtr subscript(ExpressionPtr of);
  [[nodiscard]] ExpressionPtr slice(Position at, ExpressionPtr of, ExpressionPtr start);
  [[nodiscard]] ExpressionPtr call(ExpressionPtr of);
  [[nodiscard]] ExpressionPtr test(ExpressionPtr of);
  [[nodiscard]] ExpressionPtr binary(Level operand, std::initializer_list<std::string_view> signs);
  [[nodiscard]] CallArguments arguments();
  void one_argument(CallArguments& arguments, Position at);
  [[nodiscard]] std::string dotted_name(std::string_view what);
  [[nodiscard]] Target single_target(bool with_namespace);
  [[nodiscard]] bool at_tuple_end(std::string_view end) const;
  [[nodiscard]] bool at_test_argument() const;
  [[nodiscard]] bool skip_any(std::initializer_list<std::string_view> signs, std::string& found);
  /// Gives the node its depth and holds it against the bound.
  [[nodiscard]] ExpressionPtr finish(ExpressionPtr node) const;
  [[nodiscard]] static ExpressionPtr make(Expression::Kind kind, Position at);

  ParseState& state_;
  TokenStream& tokens_;
};

}  // namespace physarum::text::jinja
