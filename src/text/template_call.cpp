#include <algorithm>

#include "template_functions.hpp"
#include "template_interpreter.hpp"
#include "template_methods.hpp"
#include "template_operators.hpp"

namespace physarum::text::jinja {

Value Interpreter::call(const Value& callee, Arguments arguments) {
  const Level level(*this, at);
  step();
  if (const Method* method = callee.method()) {
    return call_method(*this, *method, std::move(arguments));
  }
  if (const auto* function = callee.get<const Function*>()) {
    return (*function)->run(*this, std::move(arguments));
  }
  if (const auto* macro = callee.get<const Macro*>()) {
    return call_macro(**macro, std::move(arguments));
  }
  if (const auto* missing = callee.get<Undefined>()) fail(*missing->why);
  fail(callee.type_name() + " cannot be called");
}

Value Interpreter::call_macro(const Macro& macro, Arguments arguments) {
  const MacroDefinition& definition = *macro.definition;
  const InScope scope(*this, macro.scope);
  bind_parameters(definition, arguments);
  Captured captured(*this);
  run(definition.body);
  return text(std::move(captured.text));
}

void Interpreter::set_by_name(const char* name, Value value) {
  const auto found = program_.ids.find(name);
  if (found != program_.ids.end()) scope_->set(found->second, std::move(value));
}

void Interpreter::bind_parameters(const MacroDefinition& macro, Arguments& arguments) {
  const Position call = at;
  std::vector<std::optional<Value>> values(macro.parameters.size());
  const std::size_t by_place = std::min(values.size(), arguments.positional.size());
  for (std::size_t i = 0; i < by_place; ++i) values[i] = std::move(arguments.positional[i]);
  arguments.positional.erase(arguments.positional.begin(),
                             arguments.positional.begin() + static_cast<std::ptrdiff_t>(by_place));
  for (std::size_t i = by_place; i < values.size(); ++i) {
    const auto found =
        std::find_if(arguments.named.begin(), arguments.named.end(),
                     [&](const auto& named) { return named.first == macro.parameters[i].name; });
    if (found == arguments.named.end()) continue;
    values[i] = std::move(found->second);
    arguments.named.erase(found);
  }
  bind_rest(macro, arguments);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto& parameter = macro.parameters[i];
    charge(sizeof(Value));
    if (!values[i] && parameter.otherwise) values[i] = evaluate(*parameter.otherwise);
    if (!values[i]) values[i] = undefined("parameter '" + parameter.name + "' was not provided");
    scope_->set(parameter.id, std::move(*values[i]));
  }
  at = call;
}

/// What no parameter took: for `caller`, `varargs` and `kwargs`, if the body speaks of them.
void Interpreter::bind_rest(const MacroDefinition& macro, Arguments& arguments) {
  const auto is_caller = [](const auto& named) { return named.first == "caller"; };
  if (macro.takes_caller) {
    const auto found = std::find_if(arguments.named.begin(), arguments.named.end(), is_caller);
    if (found == arguments.named.end()) {
      set_by_name("caller", undefined("no caller is defined"));
    } else {
      set_by_name("caller", std::move(found->second));
      arguments.named.erase(found);
    }
  }
  if (macro.takes_kwargs) {
    Dict named;
    for (auto& [name, value] : arguments.named) named.set(text(name), std::move(value));
    set_by_name("kwargs", dict(std::move(named)));
  } else if (!arguments.named.empty()) {
    fail("the macro '" + macro.name + "' has no parameter '" + arguments.named.front().first + "'");
  }
  if (macro.takes_varargs) {
    set_by_name("varargs", tuple(std::move(arguments.positional)));
  } else if (!arguments.positional.empty()) {
    fail("the macro '" + macro.name + "' takes at most " + std::to_string(macro.parameters.size()) +
         " values");
  }
}

}  // namespace physarum::text::jinja
