#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "template_error.hpp"
#include "template_value.hpp"

namespace physarum::text::jinja {

/// Variables are looked up by number.
using NameId = std::uint32_t;

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

/// What is passed in a call, to a filter or to a test.
struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr star;         ///< *sequence
  ExpressionPtr double_star;  ///< **mapping
};

struct Expression {
  enum class Kind {
    constant,
    name,
    list,
    tuple,
    dict,         ///< parts: key, value, key, value …
    attribute,    ///< parts: of what
    item,         ///< parts: of what, key
    slice,        ///< parts: of what, start, stop, step; null for none
    call,         ///< parts: what
    filter,       ///< parts: of what, null inside a filter block
    test,         ///< parts: of what
    conditional,  ///< parts: condition, then, else; null for none
    both,
    either,
    negation,
    comparison,  ///< parts: operands, one more than operators
    binary,      ///< operators: one
    minus,
    plus,
    concatenation,
  };
  Kind kind = Kind::constant;
  Position at;
  std::size_t depth = 1;  ///< levels of expressions in it
  NameId id = 0;
  std::string name;
  Value constant;
  std::vector<ExpressionPtr> parts;
  std::vector<std::string> operators;
  CallArguments arguments;
};

/// What can be assigned to: a name, an attribute of a namespace, or a tuple of those.
struct Target {
  Position at;
  NameId id = 0;
  std::optional<std::string> attribute;
  bool is_tuple = false;
  std::vector<Target> parts;
};

struct Statement;
using Body = std::vector<Statement>;

/// A macro, or the block that a call passes.
struct MacroDefinition {
  std::string name;
  Position at;
  struct Parameter {
    NameId id;
    std::string name;
    ExpressionPtr otherwise;  ///< null for none
  };
  std::vector<Parameter> parameters;
  bool takes_caller = false;  ///< its body speaks of them
  bool takes_varargs = false;
  bool takes_kwargs = false;
  Body body;
};

struct Branch {
  ExpressionPtr condition;
  Body body;
};

struct Statement {
  enum class Kind {
    data,
    output,
    condition,
    loop,
    set,
    set_block,
    macro,
    call_block,
    filter_block,
    with,
    generation,
    leave_loop,
    next_round,
  };
  Kind kind = Kind::data;
  Position at;
  std::string data;
  ExpressionPtr expression;  ///< printed, walked, assigned, called, or the filter of a block
  ExpressionPtr condition;   ///< of a loop
  Target target;
  std::vector<std::pair<Target, ExpressionPtr>> assignments;  ///< of `with`
  std::vector<Branch> branches;                               ///< if, elif …
  Body body;
  Body otherwise;
  std::unique_ptr<MacroDefinition> macro;
};

/// A parsed template.
struct Program {
  std::string name;
  Body body;
  std::unordered_map<std::string, NameId> ids;
  std::vector<std::string> names;  ///< by id
  bool has_generation = false;
};

}  // namespace physarum::text::jinja
