#include "template_parser.hpp"

#include <algorithm>

#include "physarum/base/error.hpp"

#include "physarum/text/utf8.hpp"

#include "template_parse.hpp"

namespace physarum::text::jinja {

namespace {

using StatementKind = Statement::Kind;
using TokenKind = Token::Kind;
using TagNames = std::vector<std::string_view>;

/// Jinja's blocks.
class StatementParser {
 public:
  explicit StatementParser(ParseState& state)
      : state_(state), tokens_(state.tokens), expressions_(state) {}

  Body whole() {
    Body body = until({}, tokens_.current().at);
    return body;
  }

 private:
  static Statement make(StatementKind kind, Position at) {
    Statement statement;
    statement.kind = kind;
    statement.at = at;
    return statement;
  }

  /// Statements up to a block whose name is among `ends`, which becomes the current token; without
  /// ends, up to the end of the template.
  Body until(const TagNames& ends, Position opened) {
    const Nested nested(state_, opened);
    Body body;
    while (!tokens_.at(TokenKind::end)) {
      if (tokens_.at(TokenKind::data)) {
        Token token = tokens_.take();
        body.push_back(make(StatementKind::data, token.at));
        body.back().data = std::move(token.text);
      } else if (tokens_.at(TokenKind::variable_begin)) {
        body.push_back(make(StatementKind::output, tokens_.take().at));
        body.back().expression = expressions_.tuple();
        tokens_.expect(TokenKind::variable_end, "'}}'");
      } else {
        tokens_.take();
        const Token& name = tokens_.current();
        if (name.kind != TokenKind::name) tokens_.fail_expected("the name of a tag");
        if (std::find(ends.begin(), ends.end(), name.text) != ends.end()) return body;
        body.push_back(statement());
        tokens_.expect(TokenKind::block_end, "'%}'");
      }
    }
    if (!ends.empty()) {
      tokens_.fail(opened, "the block that begins here has no end",
                   "close it with {% " + std::string(ends.back()) + " %}");
    }
    return body;
  }

  /// The rest of an opening tag and the body behind it; the closing name is current afterwards.
  Body block(const TagNames& ends, Position opened) {
    tokens_.skip_sign(":");
    tokens_.expect(TokenKind::block_end, "'%}'");
    return until(ends, opened);
  }

  /// The same with the closing name taken.
  Body closed_block(std::string_view end, Position opened) {
    Body body = block({end}, opened);
    tokens_.take();
    return body;
  }

  Statement statement() {
    const Token tag = tokens_.take();
    const std::string& name = tag.text;
    if (name == "if") return condition(tag.at);
    if (name == "for") return loop(tag.at);
    if (name == "set") return set(tag.at);
    if (name == "macro") return macro(tag.at);
    if (name == "call") return call(tag.at);
    if (name == "filter") return filter(tag.at);
    if (name == "with") return with(tag.at);
    if (name == "generation") return generation(tag.at);
    if (name == "print") return print(tag.at);
    if (name == "break" || name == "continue") {
      if (state_.loops == 0) tokens_.fail(tag.at, "'" + name + "' stands outside of a loop");
      return make(name == "break" ? StatementKind::leave_loop : StatementKind::next_round, tag.at);
    }
    for (const std::string_view lacking :
         {"include", "import", "from", "extends", "block", "autoescape", "do", "trans", "debug"}) {
      if (name == lacking) tokens_.fail_lacking(tag.at, "the tag '" + name + "'");
    }
    if (name.starts_with("end") || name == "else" || name == "elif") {
      tokens_.fail(tag.at, "'" + name + "' closes no block that is open here");
    }
    tokens_.fail(tag.at, "there is no tag '" + name.substr(0, 60) + "'");
  }

  /// Values with commas between them, printed in a row.
  Statement print(Position at) {
    Statement node = make(StatementKind::output, at);
    node.expression = std::make_unique<Expression>();
    node.expression->kind = Expression::Kind::concatenation;
    node.expression->at = at;
    while (!tokens_.at(TokenKind::block_end)) {
      if (!node.expression->parts.empty()) tokens_.expect_sign(",");
      node.expression->parts.push_back(expressions_.expression());
    }
    return node;
  }

  Statement condition(Position at) {
    Statement node = make(StatementKind::condition, at);
    while (true) {
      Branch branch;
      branch.condition = expressions_.tuple(InlineIf::absent);
      const Conditional conditional(state_);
      branch.body = block({"elif", "else", "endif"}, at);
      node.branches.push_back(std::move(branch));
      const Token end = tokens_.take();
      if (end.text == "elif") continue;
      if (end.text == "else") node.otherwise = closed_block("endif", at);
      return node;
    }
  }

  Statement loop(Position at) {
    Statement node = make(StatementKind::loop, at);
    node.target = expressions_.target("in", false);
    tokens_.expect_name("in");
    node.expression = expressions_.tuple(InlineIf::absent, "recursive");
    if (tokens_.skip_name("if")) node.condition = expressions_.expression();
    if (tokens_.at_name("recursive")) {
      tokens_.fail_lacking(tokens_.current().at, "a loop that is 'recursive'");
    }
    ++state_.loops;
    node.body = block({"else", "endfor"}, at);
    --state_.loops;
    if (tokens_.take().text == "else") node.otherwise = closed_block("endfor", at);
    return node;
  }

  Statement set(Position at) {
    Statement node = make(StatementKind::set, at);
    node.target = expressions_.target("", true);
    if (tokens_.skip_sign("=")) {
      node.expression = expressions_.tuple();
      return node;
    }
    node.kind = StatementKind::set_block;
    node.expression = expressions_.filters(nullptr, false);
    node.body = closed_block("endset", at);
    return node;
  }

  std::unique_ptr<MacroDefinition> signature(std::string name, Position at) {
    auto macro = std::make_unique<MacroDefinition>();
    macro->name = std::move(name);
    macro->at = at;
    tokens_.expect_sign("(");
    while (!tokens_.at_sign(")")) {
      if (!macro->parameters.empty()) tokens_.expect_sign(",");
      const Token parameter = tokens_.expect(TokenKind::name, "the name of a parameter");
      ExpressionPtr otherwise;
      if (tokens_.skip_sign("=")) {
        otherwise = expressions_.expression();
      } else if (!macro->parameters.empty() && macro->parameters.back().otherwise) {
        tokens_.fail(parameter.at, "a parameter without a default stands behind one with");
      }
      macro->parameters.push_back(
          {state_.id_of(parameter.text), parameter.text, std::move(otherwise)});
    }
    tokens_.expect_sign(")");
    return macro;
  }

  /// A body that is a function of its own: break cannot leave it.
  void function_body(MacroDefinition& macro, std::string_view end, Position at) {
    const std::size_t loops = std::exchange(state_.loops, 0);
    state_.macros.push_back(&macro);
    macro.body = closed_block(end, at);
    state_.macros.pop_back();
    state_.loops = loops;
    for (const auto& parameter : macro.parameters) {
      if (parameter.name == "caller") macro.takes_caller = false;
    }
  }

  Statement macro(Position at) {
    Statement node = make(StatementKind::macro, at);
    const Token name = tokens_.expect(TokenKind::name, "the name of a macro");
    node.target.at = name.at;
    node.target.id = state_.id_of(name.text);
    node.macro = signature(name.text, at);
    function_body(*node.macro, "endmacro", at);
    return node;
  }

  Statement call(Position at) {
    Statement node = make(StatementKind::call_block, at);
    if (tokens_.at_sign("(")) {
      node.macro = signature("caller", at);
    } else {
      node.macro = std::make_unique<MacroDefinition>();
      node.macro->name = "caller";
      node.macro->at = at;
    }
    node.expression = expressions_.expression();
    if (node.expression->kind != Expression::Kind::call) {
      tokens_.fail(at, "the tag 'call' wants a call");
    }
    function_body(*node.macro, "endcall", at);
    return node;
  }

  Statement filter(Position at) {
    Statement node = make(StatementKind::filter_block, at);
    node.expression = expressions_.filters(nullptr, true);
    node.body = closed_block("endfilter", at);
    return node;
  }

  Statement with(Position at) {
    Statement node = make(StatementKind::with, at);
    while (!tokens_.at(TokenKind::block_end)) {
      if (!node.assignments.empty()) tokens_.expect_sign(",");
      Target target = expressions_.target("", false);
      tokens_.expect_sign("=");
      node.assignments.emplace_back(std::move(target), expressions_.expression());
    }
    node.body = closed_block("endwith", at);
    return node;
  }

  Statement generation(Position at) {
    Statement node = make(StatementKind::generation, at);
    state_.program.has_generation = true;
    const std::size_t loops = std::exchange(state_.loops, 0);
    node.body = closed_block("endgeneration", at);
    state_.loops = loops;
    return node;
  }

  ParseState& state_;
  TokenStream& tokens_;
  ExpressionParser expressions_;
};

}  // namespace

Program parse_template(std::string_view source, std::string_view name,
                       const TemplateLimits& limits) {
  if (source.size() > limits.template_bytes) {
    throw base::UserError("the chat template has " + std::to_string(source.size()) +
                              " bytes, at most " + std::to_string(limits.template_bytes) +
                              " are allowed",
                          name, "use a shorter template");
  }
  if (const auto bad = find_invalid_utf8(source)) {
    throw base::UserError("the chat template is not UTF-8 at byte " + std::to_string(*bad), name,
                          "save it as UTF-8");
  }
  Program program;
  program.name = name;
  ParseState state{
      TokenStream(tokenize(source, name), program.name), program, limits.nesting, 0, 0, 0, {}};
  program.body = StatementParser(state).whole();
  return program;
}

}  // namespace physarum::text::jinja
