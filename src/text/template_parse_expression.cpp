#include <algorithm>

#include "template_filters.hpp"
#include "template_parse.hpp"
#include "template_tests.hpp"

namespace physarum::text::jinja {

using Kind = Expression::Kind;
using TokenKind = Token::Kind;

std::string TokenStream::describe(const Token& token) {
  constexpr std::size_t longest = 60;
  switch (token.kind) {
    case TokenKind::data:
      return "text";
    case TokenKind::variable_begin:
      return "'{{'";
    case TokenKind::variable_end:
      return "'}}'";
    case TokenKind::block_begin:
      return "'{%'";
    case TokenKind::block_end:
      return "'%}'";
    case TokenKind::string:
      return "a string";
    case TokenKind::integer:
    case TokenKind::real:
      return "a number";
    case TokenKind::end:
      return "the end of the template";
    default:
      return "'" + (token.text.size() > longest ? "..." : token.text) + "'";
  }
}

NameId ParseState::id_of(const std::string& name) {
  const auto [found, is_new] = program.ids.emplace(name, static_cast<NameId>(program.names.size()));
  if (is_new) program.names.push_back(name);
  return found->second;
}

ExpressionPtr ExpressionParser::make(Kind kind, Position at) {
  auto node = std::make_unique<Expression>();
  node->kind = kind;
  node->at = at;
  return node;
}

ExpressionPtr ExpressionParser::finish(ExpressionPtr node) const {
  const auto include = [&](const ExpressionPtr& part) {
    if (part) node->depth = std::max(node->depth, part->depth + 1);
  };
  for (const auto& part : node->parts) include(part);
  for (const auto& part : node->arguments.positional) include(part);
  for (const auto& part : node->arguments.named) include(part.second);
  include(node->arguments.star);
  include(node->arguments.double_star);
  if (node->depth > state_.max_nesting) {
    tokens_.fail(node->at,
                 "an expression has more than " + std::to_string(state_.max_nesting) + " levels",
                 "cut it in pieces with {% set %}");
  }
  return node;
}

ExpressionPtr ExpressionParser::expression(InlineIf inline_if) {
  return inline_if == InlineIf::allowed ? conditional() : either();
}

ExpressionPtr ExpressionParser::conditional() {
  const Nested nested(state_, tokens_.current().at);
  ExpressionPtr value = either();
  while (tokens_.at_name("if")) {
    auto node = make(Kind::conditional, tokens_.take().at);
    const Conditional conditional_part(state_);
    node->parts.push_back(either());
    node->parts.push_back(std::move(value));
    node->parts.push_back(tokens_.skip_name("else") ? conditional() : nullptr);
    value = finish(std::move(node));
  }
  return value;
}

ExpressionPtr ExpressionParser::either() {
  ExpressionPtr left = both();
  while (tokens_.at_name("or")) {
    auto node = make(Kind::either, tokens_.take().at);
    node->parts.push_back(std::move(left));
    node->parts.push_back(both());
    left = finish(std::move(node));
  }
  return left;
}

ExpressionPtr ExpressionParser::both() {
  ExpressionPtr left = negation();
  while (tokens_.at_name("and")) {
    auto node = make(Kind::both, tokens_.take().at);
    node->parts.push_back(std::move(left));
    node->parts.push_back(negation());
    left = finish(std::move(node));
  }
  return left;
}

ExpressionPtr ExpressionParser::negation() {
  if (!tokens_.at_name("not")) return comparison();
  const Nested nested(state_, tokens_.current().at);
  auto node = make(Kind::negation, tokens_.take().at);
  node->parts.push_back(negation());
  return finish(std::move(node));
}

bool ExpressionParser::skip_any(std::initializer_list<std::string_view> signs, std::string& found) {
  for (const std::string_view sign : signs) {
    if (!tokens_.skip_sign(sign)) continue;
    found = sign;
    return true;
  }
  return false;
}

ExpressionPtr ExpressionParser::comparison() {
  ExpressionPtr left = sum();
  auto node = make(Kind::comparison, tokens_.current().at);
  node->parts.push_back(std::move(left));
  std::string sign;
  while (true) {
    if (skip_any({"==", "!=", "<=", ">=", "<", ">"}, sign)) {
      node->operators.push_back(sign);
    } else if (tokens_.skip_name("in")) {
      node->operators.emplace_back("in");
    } else if (tokens_.at_name("not") && TokenStream::is(tokens_.next(), TokenKind::name, "in")) {
      tokens_.take();
      tokens_.take();
      node->operators.emplace_back("not in");
    } else {
      break;
    }
    node->parts.push_back(sum());
  }
  if (node->operators.empty()) return std::move(node->parts.front());
  return finish(std::move(node));
}

ExpressionPtr ExpressionParser::binary(Level operand,
                                       std::initializer_list<std::string_view> signs) {
  ExpressionPtr left = (this->*operand)();
  std::string sign;
  while (true) {
    const Position at = tokens_.current().at;
    if (!skip_any(signs, sign)) return left;
    auto node = make(Kind::binary, at);
    node->operators.push_back(sign);
    node->parts.push_back(std::move(left));
    node->parts.push_back((this->*operand)());
    left = finish(std::move(node));
  }
}

ExpressionPtr ExpressionParser::sum() {
  return binary(&ExpressionParser::concatenation, {"+", "-"});
}

ExpressionPtr ExpressionParser::concatenation() {
  ExpressionPtr first = product();
  if (!tokens_.at_sign("~")) return first;
  auto node = make(Kind::concatenation, tokens_.current().at);
  node->parts.push_back(std::move(first));
  while (tokens_.skip_sign("~")) node->parts.push_back(product());
  return finish(std::move(node));
}

ExpressionPtr ExpressionParser::product() {
  return binary(&ExpressionParser::power, {"*", "//", "/", "%"});
}

ExpressionPtr ExpressionParser::power() { return binary(&ExpressionParser::with_filters, {"**"}); }

ExpressionPtr ExpressionParser::unary(bool with_filters) {
  const Nested nested(state_, tokens_.current().at);
  ExpressionPtr node;
  if (tokens_.at_sign("-") || tokens_.at_sign("+")) {
    const Token sign = tokens_.take();
    node = make(sign.text == "-" ? Kind::minus : Kind::plus, sign.at);
    node->parts.push_back(unary(false));
    node = finish(std::move(node));
  } else {
    node = primary();
  }
  node = postfix(std::move(node));
  return with_filters ? filters_and_tests(std::move(node)) : std::move(node);
}

ExpressionPtr ExpressionParser::primary() {
  const Token& token = tokens_.current();
  if (token.kind == TokenKind::name) return name_or_constant(tokens_.take());
  if (token.kind == TokenKind::string) return strings();
  if (token.kind == TokenKind::integer || token.kind == TokenKind::real) {
    auto node = make(Kind::constant, token.at);
    node->constant = token.kind == TokenKind::integer ? Value(token.integer) : Value(token.real);
    tokens_.take();
    return node;
  }
  if (tokens_.skip_sign("(")) {
    ExpressionPtr inner = tuple(InlineIf::allowed, "", true);
    tokens_.expect_sign(")");
    return inner;
  }
  if (tokens_.at_sign("[")) return list();
  if (tokens_.at_sign("{")) return dict();
  tokens_.fail_expected("an expression");
}

ExpressionPtr ExpressionParser::name_or_constant(const Token& token) {
  auto node = make(Kind::constant, token.at);
  const std::string& name = token.text;
  if (name == "true" || name == "True") {
    node->constant = Value(true);
  } else if (name == "false" || name == "False") {
    node->constant = Value(false);
  } else if (name != "none" && name != "None") {
    node->kind = Kind::name;
    node->name = name;
    node->id = state_.id_of(name);
    for (MacroDefinition* macro : state_.macros) {
      macro->takes_caller = macro->takes_caller || name == "caller";
      macro->takes_varargs = macro->takes_varargs || name == "varargs";
      macro->takes_kwargs = macro->takes_kwargs || name == "kwargs";
    }
  }
  return node;
}

ExpressionPtr ExpressionParser::strings() {
  auto node = make(Kind::constant, tokens_.current().at);
  Text text;
  while (tokens_.at(TokenKind::string)) text.append(tokens_.take().text);
  node->constant = Value(std::make_shared<const Text>(std::move(text)));
  return node;
}

bool ExpressionParser::at_tuple_end(std::string_view end) const {
  return tokens_.at(TokenKind::variable_end) || tokens_.at(TokenKind::block_end) ||
         tokens_.at_sign(")") || (!end.empty() && tokens_.at_name(end));
}

ExpressionPtr ExpressionParser::tuple(InlineIf inline_if, std::string_view end,
                                      bool in_parentheses) {
  auto node = make(Kind::tuple, tokens_.current().at);
  bool is_tuple = false;
  while (true) {
    if (!node->parts.empty()) tokens_.expect_sign(",");
    if (at_tuple_end(end)) break;
    node->parts.push_back(expression(inline_if));
    if (!tokens_.at_sign(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !node->parts.empty()) return std::move(node->parts.front());
  if (!is_tuple && !in_parentheses) tokens_.fail_expected("an expression");
  return finish(std::move(node));
}

ExpressionPtr ExpressionParser::list() {
  auto node = make(Kind::list, tokens_.take().at);
  while (!tokens_.at_sign("]")) {
    if (!node->parts.empty()) tokens_.expect_sign(",");
    if (tokens_.at_sign("]")) break;
    node->parts.push_back(expression());
  }
  tokens_.expect_sign("]");
  return finish(std::move(node));
}

ExpressionPtr ExpressionParser::dict() {
  auto node = make(Kind::dict, tokens_.take().at);
  while (!tokens_.at_sign("}")) {
    if (!node->parts.empty()) tokens_.expect_sign(",");
    if (tokens_.at_sign("}")) break;
    node->parts.push_back(expression());
    tokens_.expect_sign(":");
    node->parts.push_back(expression());
  }
  tokens_.expect_sign("}");
  return finish(std::move(node));
}

Target ExpressionParser::single_target(bool with_namespace) {
  Target target;
  target.at = tokens_.current().at;
  if (tokens_.skip_sign("(")) {
    const Nested nested(state_, target.at);
    target = this->target("", false);
    tokens_.expect_sign(")");
    return target;
  }
  const Token token = tokens_.expect(TokenKind::name, "a name to assign to");
  for (const std::string_view constant : {"true", "false", "none", "True", "False", "None"}) {
    if (token.text == constant) tokens_.fail(token.at, "cannot assign to '" + token.text + "'");
  }
  target.id = state_.id_of(token.text);
  if (with_namespace && tokens_.skip_sign(".")) {
    target.attribute = tokens_.expect(TokenKind::name, "the name of an attribute").text;
  }
  return target;
}

Target ExpressionParser::target(std::string_view end, bool with_namespace) {
  Target all;
  all.at = tokens_.current().at;
  while (true) {
    if (!all.parts.empty()) tokens_.expect_sign(",");
    if (at_tuple_end(end)) break;
    all.parts.push_back(single_target(with_namespace));
    if (!tokens_.at_sign(",")) break;
    all.is_tuple = true;
  }
  if (all.parts.empty()) tokens_.fail_expected("a name to assign to");
  if (all.is_tuple) return all;
  Target only = std::move(all.parts.front());
  return only;
}

}  // namespace physarum::text::jinja
