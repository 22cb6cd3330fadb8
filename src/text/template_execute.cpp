#include <algorithm>

#include "template_functions.hpp"
#include "template_interpreter.hpp"
#include "template_operators.hpp"
#include "template_print.hpp"

namespace physarum::text::jinja {

void Scope::set(NameId id, Value value) {
  for (auto& [known, slot] : variables) {
    if (known == id) {
      slot = std::move(value);
      return;
    }
  }
  variables.emplace_back(id, std::move(value));
}

Interpreter::Interpreter(const Program& program, const TemplateLimits& limits,
                         const std::optional<ChatDate>& date)
    : Machine(program.name, limits, date), program_(program), scope_(std::make_shared<Scope>()) {
  const auto loop = program.ids.find("loop");
  if (loop != program.ids.end()) loop_id_ = loop->second;
}

void Interpreter::set_variable(const std::string& name, Value value) {
  const auto found = program_.ids.find(name);  // without it the template never asks
  if (found != program_.ids.end()) scope_->set(found->second, std::move(value));
}

Text Interpreter::run() {
  Captured output(*this);
  run(program_.body);
  return std::move(output.text);
}

void Interpreter::grow(std::size_t bytes) {
  if (bytes > limits().output_bytes - out_->size()) {
    fail("the template prints more than " + std::to_string(limits().output_bytes) + " bytes",
         "shorten its loops or the conversation");
  }
  charge(bytes + sizeof(Run));
  work(bytes);
}

void Interpreter::emit(const Text& text) {
  grow(text.size());
  charge(text.runs().size() * sizeof(Run));
  out_->append(text);
}

void Interpreter::emit(std::string_view data) {
  grow(data.size());
  out_->append(data);
}

Interpreter::Flow Interpreter::run(const Body& body) {
  for (const Statement& statement : body) {
    const Flow flow = run(statement);
    if (flow != Flow::next) return flow;
  }
  return Flow::next;
}

Interpreter::Flow Interpreter::run(const Statement& statement) {
  using Kind = Statement::Kind;
  const Level level(*this, statement.at);
  step();
  switch (statement.kind) {
    case Kind::data:
      emit(statement.data);
      return Flow::next;
    case Kind::output: {
      const Value value = evaluate(*statement.expression);
      at = statement.at;
      if (const Text* text = value.text()) {
        emit(*text);
      } else {
        emit(to_text(*this, value));
      }
      return Flow::next;
    }
    case Kind::condition:
      return run_condition(statement);
    case Kind::loop:
      return run_loop(statement);
    case Kind::set:
      assign(statement.target, evaluate(*statement.expression));
      return Flow::next;
    case Kind::set_block:
      return run_set_block(statement);
    case Kind::macro:
      assign(statement.target, make_macro(*statement.macro));
      return Flow::next;
    case Kind::call_block:
      run_call_block(statement);
      return Flow::next;
    case Kind::filter_block:
      return run_filter_block(statement);
    case Kind::with:
      return run_with(statement);
    case Kind::generation:
      run_generation(statement);
      return Flow::next;
    case Kind::leave_loop:
      return Flow::leave_loop;
    case Kind::next_round:
      return Flow::next_round;
  }
  return Flow::next;
}

Interpreter::Flow Interpreter::run_condition(const Statement& statement) {
  for (const Branch& branch : statement.branches) {
    if (is_true(evaluate(*branch.condition))) return run(branch.body);
  }
  return run(statement.otherwise);
}

Interpreter::Flow Interpreter::run_scoped(const Body& body) {
  const InScope scope(*this, scope_);
  return run(body);
}

std::vector<Value> Interpreter::items_of(const Statement& loop) {
  const Value walked = evaluate(*loop.expression);
  at = loop.expression->at;
  std::vector<Value> items = iterate(*this, walked);
  if (!loop.condition) return items;
  std::vector<Value> kept;
  for (Value& item : items) {
    const InScope scope(*this, scope_);
    assign(loop.target, item);
    if (is_true(evaluate(*loop.condition))) kept.push_back(std::move(item));
  }
  return kept;
}

Interpreter::Flow Interpreter::run_loop(const Statement& statement) {
  const auto items = std::make_shared<const std::vector<Value>>(items_of(statement));
  if (items->empty()) return run_scoped(statement.otherwise);
  std::size_t depth = 1;
  for (const Value& item : *items) depth = std::max(depth, item.depth() + 1);
  for (std::size_t i = 0; i < items->size(); ++i) {
    at = statement.at;
    step();
    const InScope scope(*this, scope_);
    if (loop_id_) {
      charge(sizeof(Loop));
      scope_->set(*loop_id_, Value(std::make_shared<const Loop>(Loop{items, i, depth})));
    }
    assign(statement.target, (*items)[i]);
    if (run(statement.body) == Flow::leave_loop) break;
  }
  return Flow::next;
}

void Interpreter::assign(const Target& target, Value value) {
  at = target.at;
  if (target.is_tuple) {
    auto values = iterate(*this, value);
    if (values.size() != target.parts.size()) {
      fail("cannot unpack " + std::to_string(values.size()) + " values into " +
           std::to_string(target.parts.size()));
    }
    for (std::size_t i = 0; i < values.size(); ++i) assign(target.parts[i], std::move(values[i]));
    return;
  }
  step(1 + scope_->variables.size() / 16);
  charge(sizeof(Value));
  if (!target.attribute) return scope_->set(target.id, std::move(value));
  const Value* variable = find_variable(target.id);
  auto* const* space = variable == nullptr ? nullptr : variable->get<Namespace*>();
  if (space == nullptr) {
    fail("'" + program_.names[target.id] + "' is no namespace: its attributes cannot be set",
         "make it with namespace()");
  }
  check_attribute_name(*this, *target.attribute);
  charge(target.attribute->size() + sizeof(Value));
  (*space)->attributes[*target.attribute] = std::move(value);
}

Interpreter::Flow Interpreter::run_set_block(const Statement& statement) {
  Value value;
  {
    Captured captured(*this);
    const Flow flow = run_scoped(statement.body);
    if (flow != Flow::next) return flow;
    value = text(std::move(captured.text));
  }
  if (statement.expression) {
    block_input_ = std::move(value);
    value = evaluate(*statement.expression);
  }
  assign(statement.target, std::move(value));
  return Flow::next;
}

Interpreter::Flow Interpreter::run_filter_block(const Statement& statement) {
  {
    Captured captured(*this);
    const Flow flow = run_scoped(statement.body);
    if (flow != Flow::next) return flow;
    block_input_ = text(std::move(captured.text));
  }
  const Value result = evaluate(*statement.expression);
  if (result.text() == nullptr) {
    fail("the filter of a block must make a text of it, not " + result.type_name());
  }
  emit(*result.text());
  return Flow::next;
}

Interpreter::Flow Interpreter::run_with(const Statement& statement) {
  std::vector<Value> values;
  for (const auto& [target, expression] : statement.assignments) {
    values.push_back(evaluate(*expression));
  }
  const InScope scope(*this, scope_);
  for (std::size_t i = 0; i < values.size(); ++i) {
    assign(statement.assignments[i].first, std::move(values[i]));
  }
  return run(statement.body);
}

void Interpreter::run_generation(const Statement& statement) {
  Text generated;
  {
    Captured captured(*this);
    run_scoped(statement.body);
    generated = std::move(captured.text);
  }
  generated.mark_generated();
  emit(generated);
}

Value Interpreter::make_macro(const MacroDefinition& definition) {
  charge(sizeof(Macro) + sizeof(Scope));
  return Value(static_cast<const Macro*>(&macros_.emplace_back(Macro{&definition, scope_})));
}

void Interpreter::run_call_block(const Statement& statement) {
  const Expression& node = *statement.expression;
  const Value callee = evaluate(*node.parts.front());
  Arguments passed = arguments(node.arguments);
  passed.named.emplace_back("caller", make_macro(*statement.macro));
  at = node.at;
  emit(to_text(*this, call(callee, std::move(passed))));
}

}  // namespace physarum::text::jinja
