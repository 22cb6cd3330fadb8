#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "template_ast.hpp"
#include "template_machine.hpp"

namespace physarum::text::jinja {

/// The variables of a block; what it does not have, the block around it may.
struct Scope {
  std::shared_ptr<Scope> parent;
  std::vector<std::pair<NameId, Value>> variables;

  void set(NameId id, Value value);
};
using ScopePtr = std::shared_ptr<Scope>;

/// A macro and the place that it was defined in, whose variables it sees. Values point to macros
/// and never own them, so that a scope cannot keep itself alive.
struct Macro {
  const MacroDefinition* definition;
  ScopePtr scope;
};

/// Runs one template once.
class Interpreter final : public Machine {
 public:
  Interpreter(const Program& program, const TemplateLimits& limits,
              const std::optional<ChatDate>& date);

  void set_variable(const std::string& name, Value value);
  [[nodiscard]] Text run();

  [[nodiscard]] Value call(const Value& callee, Arguments arguments) override;
  [[nodiscard]] Value apply_filter(const std::string& name, const Value& input,
                                   Arguments arguments) override;
  [[nodiscard]] bool apply_test(const std::string& name, const Value& input,
                                Arguments arguments) override;
  [[nodiscard]] Namespace& make_namespace() override { return namespaces_.emplace_back(); }

 private:
  enum class Flow { next, leave_loop, next_round };
  class Level;
  class InScope;
  class Captured;

  // Statements
  Flow run(const Body& body);
  Flow run(const Statement& statement);
  Flow run_condition(const Statement& statement);
  Flow run_loop(const Statement& statement);
  Flow run_scoped(const Body& body);
  Flow run_set_block(const Statement& statement);
  Flow run_filter_block(const Statement& statement);
  Flow run_with(const Statement& statement);
  void run_generation(const Statement& statement);
  void run_call_block(const Statement& statement);
  std::vector<Value> items_of(const Statement& loop);
  void assign(const Target& target, Value value);
  void emit(const Text& text);
  void emit(std::string_view data);
  void grow(std::size_t bytes);
  [[nodiscard]] Value make_macro(const MacroDefinition& definition);

  // Expressions
  Value evaluate(const Expression& node);
  Value evaluate_parts(const Expression& node);
  Value name(const Expression& node);
  Value sequence(const Expression& node);
  Value mapping(const Expression& node);
  Value attribute(const Expression& node);
  Value item(const Expression& node);
  Value slice(const Expression& node);
  Value call_node(const Expression& node);
  Value filter(const Expression& node);
  Value test(const Expression& node);
  Value conditional(const Expression& node);
  Value logical(const Expression& node);
  Value comparison(const Expression& node);
  Value binary(const Expression& node);
  Value concatenation(const Expression& node);
  Arguments arguments(const CallArguments& passed);
  std::optional<std::int64_t> bound_of(const ExpressionPtr& bound);
  Value call_macro(const Macro& macro, Arguments arguments);
  void bind_parameters(const MacroDefinition& macro, Arguments& arguments);
  void bind_rest(const MacroDefinition& macro, Arguments& arguments);
  const Value* find_variable(NameId id);
  void set_by_name(const char* name, Value value);

  const Program& program_;
  ScopePtr scope_;
  Text* out_ = nullptr;
  Value block_input_;  ///< what a filter block holds
  std::optional<NameId> loop_id_;
  std::size_t level_ = 0;
  std::deque<Namespace> namespaces_;
  std::deque<Macro> macros_;
};

/// A block of the template that is being run: bounds the recursion.
class Interpreter::Level {
 public:
  Level(Interpreter& machine, Position at) : machine_(machine) {
    machine_.at = at;
    if (++machine_.level_ > machine_.limits().recursion) {
      machine_.fail("the template calls itself, or is nested, deeper than " +
                        std::to_string(machine_.limits().recursion) + " levels",
                    "flatten the data or the template");
    }
  }
  ~Level() { --machine_.level_; }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

 private:
  Interpreter& machine_;
};

/// A scope that is entered while this lives.
class Interpreter::InScope {
 public:
  InScope(Interpreter& machine, ScopePtr parent) : machine_(machine), before_(machine.scope_) {
    machine_.charge(sizeof(Scope));
    machine_.scope_ = std::make_shared<Scope>();
    machine_.scope_->parent = std::move(parent);
  }
  ~InScope() { machine_.scope_ = std::move(before_); }
  InScope(const InScope&) = delete;
  InScope& operator=(const InScope&) = delete;

 private:
  Interpreter& machine_;
  ScopePtr before_;
};

/// What is printed while this lives goes here.
class Interpreter::Captured {
 public:
  explicit Captured(Interpreter& machine) : machine_(machine), before_(machine.out_) {
    machine_.out_ = &text;
  }
  ~Captured() { machine_.out_ = before_; }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  Text text;

 private:
  Interpreter& machine_;
  Text* before_;
};

}  // namespace physarum::text::jinja
