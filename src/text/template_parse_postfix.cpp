#include "template_filters.hpp"
#include "template_parse.hpp"
#include "template_tests.hpp"

namespace physarum::text::jinja {

using Kind = Expression::Kind;
using TokenKind = Token::Kind;

ExpressionPtr ExpressionParser::postfix(ExpressionPtr of) {
  while (true) {
    if (tokens_.at_sign(".")) {
      of = attribute(std::move(of));
    } else if (tokens_.at_sign("[")) {
      of = subscript(std::move(of));
    } else if (tokens_.at_sign("(")) {
      of = call(std::move(of));
    } else {
      return of;
    }
  }
}

ExpressionPtr ExpressionParser::filters_and_tests(ExpressionPtr of) {
  while (true) {
    if (tokens_.at_sign("|")) {
      of = filters(std::move(of), false);
    } else if (tokens_.at_name("is")) {
      of = test(std::move(of));
    } else if (tokens_.at_sign("(")) {
      of = call(std::move(of));
    } else {
      return of;
    }
  }
}

ExpressionPtr ExpressionParser::attribute(ExpressionPtr of) {
  tokens_.take();
  const Token token = tokens_.take();
  auto node = make(Kind::attribute, token.at);
  node->parts.push_back(std::move(of));
  if (token.kind == TokenKind::name) {
    node->name = token.text;
  } else if (token.kind == TokenKind::integer) {
    node->kind = Kind::item;
    auto index = make(Kind::constant, token.at);
    index->constant = Value(token.integer);
    node->parts.push_back(std::move(index));
  } else {
    tokens_.fail(token.at, "expected a name or a number behind '.'");
  }
  return finish(std::move(node));
}

ExpressionPtr ExpressionParser::subscript(ExpressionPtr of) {
  const Position at = tokens_.take().at;
  ExpressionPtr key;
  if (!tokens_.at_sign(":")) {
    key = expression();
    if (tokens_.at_sign(",")) tokens_.fail_lacking(at, "an index of several parts");
  }
  if (tokens_.at_sign(":")) return slice(at, std::move(of), std::move(key));
  tokens_.expect_sign("]");
  auto node = make(Kind::item, at);
  node->parts.push_back(std::move(of));
  node->parts.push_back(std::move(key));
  return finish(std::move(node));
}

ExpressionPtr ExpressionParser::slice(Position at, ExpressionPtr of, ExpressionPtr start) {
  const auto bound = [&]() -> ExpressionPtr {
    if (!tokens_.skip_sign(":")) return nullptr;
    if (tokens_.at_sign(":") || tokens_.at_sign("]")) return nullptr;
    return expression();
  };
  auto node = make(Kind::slice, at);
  node->parts.push_back(std::move(of));
  node->parts.push_back(std::move(start));
  node->parts.push_back(bound());
  node->parts.push_back(bound());
  tokens_.expect_sign("]");
  return finish(std::move(node));
}

void ExpressionParser::one_argument(CallArguments& arguments, Position at) {
  const auto ensure = [&](bool holds) {
    if (!holds) tokens_.fail(at, "the arguments of the call are out of order");
  };
  if (tokens_.skip_sign("*")) {
    ensure(!arguments.star && !arguments.double_star);
    arguments.star = expression();
  } else if (tokens_.skip_sign("**")) {
    ensure(!arguments.double_star);
    arguments.double_star = expression();
  } else if (tokens_.at(TokenKind::name) && TokenStream::is(tokens_.next(), TokenKind::sign, "=")) {
    ensure(!arguments.double_star);
    std::string name = tokens_.take().text;
    tokens_.take();
    arguments.named.emplace_back(std::move(name), expression());
  } else {
    ensure(!arguments.star && !arguments.double_star && arguments.named.empty());
    arguments.positional.push_back(expression());
  }
}

CallArguments ExpressionParser::arguments() {
  const Position at = tokens_.current().at;
  tokens_.expect_sign("(");
  CallArguments arguments;
  bool is_first = true;
  while (!tokens_.at_sign(")")) {
    if (!is_first) tokens_.expect_sign(",");
    is_first = false;
    if (tokens_.at_sign(")")) break;
    one_argument(arguments, at);
  }
  tokens_.expect_sign(")");
  return arguments;
}

ExpressionPtr ExpressionParser::call(ExpressionPtr of) {
  auto node = make(Kind::call, tokens_.current().at);
  node->parts.push_back(std::move(of));
  node->arguments = arguments();
  return finish(std::move(node));
}

std::string ExpressionParser::dotted_name(std::string_view what) {
  std::string name = tokens_.expect(TokenKind::name, what).text;
  while (tokens_.skip_sign(".")) name += "." + tokens_.expect(TokenKind::name, what).text;
  return name;
}

ExpressionPtr ExpressionParser::filters(ExpressionPtr input, bool first_without_pipe) {
  while (first_without_pipe || tokens_.at_sign("|")) {
    if (!first_without_pipe) tokens_.take();
    first_without_pipe = false;
    auto node = make(Kind::filter, tokens_.current().at);
    node->name = dotted_name("the name of a filter");
    // On a condition, Jinja complains only when it comes to pass; so do we, at run time.
    if (state_.conditions == 0 && !has_filter(node->name)) {
      tokens_.fail(node->at, "there is no filter '" + node->name + "'",
                   "use one of the filters that docs/chat_templates.md lists");
    }
    node->parts.push_back(std::move(input));
    if (tokens_.at_sign("(")) node->arguments = arguments();
    input = finish(std::move(node));
  }
  return input;
}

bool ExpressionParser::at_test_argument() const {
  const Token& token = tokens_.current();
  if (token.kind == TokenKind::name) {
    return token.text != "else" && token.text != "or" && token.text != "and";
  }
  return token.kind == TokenKind::string || token.kind == TokenKind::integer ||
         token.kind == TokenKind::real || tokens_.at_sign("[") || tokens_.at_sign("{");
}

ExpressionPtr ExpressionParser::test(ExpressionPtr of) {
  const Position at = tokens_.take().at;
  const bool negated = tokens_.skip_name("not");
  auto node = make(Kind::test, tokens_.current().at);
  node->name = dotted_name("the name of a test");
  if (state_.conditions == 0 && !has_test(node->name)) {
    tokens_.fail(node->at, "there is no test '" + node->name + "'",
                 "use one of the tests that docs/chat_templates.md lists");
  }
  node->parts.push_back(std::move(of));
  if (tokens_.at_sign("(")) {
    node->arguments = arguments();
  } else if (at_test_argument()) {
    if (tokens_.at_name("is")) tokens_.fail(at, "tests with 'is' do not chain");
    node->arguments.positional.push_back(postfix(primary()));
  }
  node = finish(std::move(node));
  if (!negated) return node;
  auto negation = make(Kind::negation, at);
  negation->parts.push_back(std::move(node));
  return finish(std::move(negation));
}

}  // namespace physarum::text::jinja
