#include "template_filters.hpp"
#include "template_functions.hpp"
#include "template_interpreter.hpp"
#include "template_operators.hpp"
#include "template_print.hpp"
#include "template_tests.hpp"

namespace physarum::text::jinja {

using Kind = Expression::Kind;

Value Interpreter::evaluate(const Expression& node) {
  const Level level(*this, node.at);
  step();
  if (node.kind == Kind::constant) return node.constant;
  if (node.kind == Kind::name) return name(node);
  return evaluate_parts(node);
}

Value Interpreter::evaluate_parts(const Expression& node) {
  switch (node.kind) {
    case Kind::list:
    case Kind::tuple:
      return sequence(node);
    case Kind::dict:
      return mapping(node);
    case Kind::attribute:
      return attribute(node);
    case Kind::item:
      return item(node);
    case Kind::slice:
      return slice(node);
    case Kind::call:
      return call_node(node);
    case Kind::filter:
      return filter(node);
    case Kind::test:
      return test(node);
    case Kind::conditional:
      return conditional(node);
    case Kind::both:
    case Kind::either:
      return logical(node);
    case Kind::negation:
      return Value(!is_true(evaluate(*node.parts.front())));
    case Kind::comparison:
      return comparison(node);
    case Kind::binary:
      return binary(node);
    case Kind::concatenation:
      return concatenation(node);
    case Kind::minus:
    case Kind::plus: {
      const Value value = evaluate(*node.parts.front());
      at = node.at;
      const Value negative = negate(*this, value);
      return node.kind == Kind::minus ? negative : negate(*this, negative);
    }
    default:
      return node.constant;
  }
}

const Value* Interpreter::find_variable(NameId id) {
  for (const Scope* scope = scope_.get(); scope != nullptr; scope = scope->parent.get()) {
    step(scope->variables.size() / 16);
    for (const auto& [known, value] : scope->variables) {
      if (known == id) return &value;
    }
  }
  return nullptr;
}

Value Interpreter::name(const Expression& node) {
  if (const Value* value = find_variable(node.id)) return *value;
  if (const Function* function = find_function(node.name, date().has_value())) {
    return Value(function);
  }
  if (node.name == "strftime_now") {
    return undefined("'strftime_now' is undefined: without a date for it the template has none");
  }
  return undefined("'" + node.name + "' is undefined");
}

Value Interpreter::sequence(const Expression& node) {
  std::vector<Value> items;
  items.reserve(node.parts.size());
  for (const auto& part : node.parts) items.push_back(evaluate(*part));
  at = node.at;
  return list(std::move(items),
              node.kind == Kind::list ? Sequence::Form::list : Sequence::Form::tuple);
}

Value Interpreter::mapping(const Expression& node) {
  Dict entries;
  for (std::size_t i = 0; i < node.parts.size(); i += 2) {
    const Value key = evaluate(*node.parts[i]);
    at = node.parts[i]->at;
    if (!Dict::is_hashable(key)) fail(key.type_name() + " cannot be a key");
    entries.set(key, evaluate(*node.parts[i + 1]));
  }
  at = node.at;
  return dict(std::move(entries));
}

Value Interpreter::attribute(const Expression& node) {
  const Value of = evaluate(*node.parts.front());
  at = node.at;
  return get_attribute(*this, of, node.name);
}

Value Interpreter::item(const Expression& node) {
  const Value of = evaluate(*node.parts[0]);
  const Value key = evaluate(*node.parts[1]);
  at = node.at;
  return get_item(*this, of, key);
}

std::optional<std::int64_t> Interpreter::bound_of(const ExpressionPtr& bound) {
  if (!bound) return std::nullopt;
  const Value value = evaluate(*bound);
  if (value.is_none()) return std::nullopt;
  std::int64_t index = 0;
  if (value.to_integer(index)) return index;
  at = bound->at;
  if (const auto* missing = value.get<Undefined>()) fail(*missing->why);
  fail("a slice wants integers, not " + value.type_name());
}

Value Interpreter::slice(const Expression& node) {
  const Value of = evaluate(*node.parts[0]);
  SliceBounds bounds;
  bounds.start = bound_of(node.parts[1]);
  bounds.stop = bound_of(node.parts[2]);
  bounds.step = bound_of(node.parts[3]);
  at = node.at;
  return get_slice(*this, of, bounds);
}

Arguments Interpreter::arguments(const CallArguments& passed) {
  Arguments values;
  for (const auto& argument : passed.positional) values.positional.push_back(evaluate(*argument));
  for (const auto& [name, argument] : passed.named) {
    values.named.emplace_back(name, evaluate(*argument));
  }
  if (passed.star) {
    for (Value& value : iterate(*this, evaluate(*passed.star))) {
      values.positional.push_back(std::move(value));
    }
  }
  if (passed.double_star) {
    const Value names = evaluate(*passed.double_star);
    at = passed.double_star->at;
    if (names.dict() == nullptr) fail("'**' wants a mapping, not " + names.type_name());
    for (const auto& [key, value] : names.dict()->entries()) {
      if (key.text() == nullptr) fail("'**' wants a mapping whose keys are strings");
      charge(key.text()->size() + sizeof(Value));
      values.named.emplace_back(key.text()->bytes(), value);
    }
  }
  return values;
}

Value Interpreter::call_node(const Expression& node) {
  const Value callee = evaluate(*node.parts.front());
  Arguments passed = arguments(node.arguments);
  at = node.at;
  return call(callee, std::move(passed));
}

Value Interpreter::filter(const Expression& node) {
  const Value input = node.parts.front() ? evaluate(*node.parts.front()) : block_input_;
  Arguments passed = arguments(node.arguments);
  at = node.at;
  return run_filter(*this, node.name, input, std::move(passed));
}

Value Interpreter::test(const Expression& node) {
  const Value input = evaluate(*node.parts.front());
  Arguments passed = arguments(node.arguments);
  at = node.at;
  return Value(run_test(*this, node.name, input, std::move(passed)));
}

Value Interpreter::apply_filter(const std::string& name, const Value& input, Arguments passed) {
  return run_filter(*this, name, input, std::move(passed));
}

bool Interpreter::apply_test(const std::string& name, const Value& input, Arguments passed) {
  return run_test(*this, name, input, std::move(passed));
}

Value Interpreter::conditional(const Expression& node) {
  if (is_true(evaluate(*node.parts[0]))) return evaluate(*node.parts[1]);
  if (node.parts[2]) return evaluate(*node.parts[2]);
  return undefined("the condition of an 'if' without 'else' is not true");
}

Value Interpreter::logical(const Expression& node) {
  Value left = evaluate(*node.parts[0]);
  if (is_true(left) == (node.kind == Kind::either)) return left;
  return evaluate(*node.parts[1]);
}

Value Interpreter::comparison(const Expression& node) {
  Value left = evaluate(*node.parts.front());
  for (std::size_t i = 0; i < node.operators.size(); ++i) {
    const std::string& sign = node.operators[i];
    Value right = evaluate(*node.parts[i + 1]);
    at = node.at;
    bool holds = false;
    if (sign == "==") {
      holds = equal(*this, left, right);
    } else if (sign == "!=") {
      holds = !equal(*this, left, right);
    } else if (sign == "in") {
      holds = contains(*this, right, left);
    } else if (sign == "not in") {
      holds = !contains(*this, right, left);
    } else {
      const auto order = compare(*this, left, right);
      const int value = order.value_or(0);
      holds = order && ((sign[0] == '<' && value < 0) || (sign[0] == '>' && value > 0) ||
                        (sign.size() == 2 && value == 0));
    }
    if (!holds) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Value Interpreter::binary(const Expression& node) {
  const Value left = evaluate(*node.parts[0]);
  const Value right = evaluate(*node.parts[1]);
  at = node.at;
  const std::string& sign = node.operators.front();
  if (sign == "+") return add(*this, left, right);
  if (sign == "-") return subtract(*this, left, right);
  if (sign == "*") return multiply(*this, left, right);
  if (sign == "/") return divide(*this, left, right);
  if (sign == "//") return floor_divide(*this, left, right);
  if (sign == "%") return modulo(*this, left, right);
  return power(*this, left, right);
}

Value Interpreter::concatenation(const Expression& node) {
  Text joined;
  for (const auto& part : node.parts) {
    const Value value = evaluate(*part);
    at = part->at;
    joined.append(to_text(*this, value));
  }
  at = node.at;
  return text(std::move(joined));
}

}  // namespace physarum::text::jinja
