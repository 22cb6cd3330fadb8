#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "template_text.hpp"

namespace physarum::text::jinja {

class Value;
struct Sequence;
class Dict;
struct Loop;
struct Macro;
struct Method;
struct Function;
struct Namespace;

/// What a name or attribute that is not there stands for: prints as nothing, fails in arithmetic.
struct Undefined {
  std::shared_ptr<const std::string> why;  ///< "'x' is undefined"
};
struct None {};

/// Python's values as far as templates see them. Containers are shared and never change once made;
/// namespaces do, and belong to the run of the template, as do macros.
class Value {
 public:
  using Data =
      std::variant<Undefined, None, bool, std::int64_t, double, std::shared_ptr<const Text>,
                   std::shared_ptr<Sequence>, std::shared_ptr<const Dict>,
                   std::shared_ptr<const Loop>, std::shared_ptr<const Method>, const Function*,
                   const Macro*, Namespace*>;

  Value() : data_(None{}) {}
  template <class T>
  requires std::is_constructible_v<Data, T&&> &&
      (!std::is_same_v<std::decay_t<T>, Value>)explicit Value(T&& data)
      : data_(std::forward<T>(data)) {}

  template <class T>
  [[nodiscard]] const T* get() const {
    return std::get_if<T>(&data_);
  }
  /// A pointer to the shared thing, null if it is none.
  [[nodiscard]] const Text* text() const { return shared<const Text>(); }
  [[nodiscard]] Sequence* sequence() const { return shared<Sequence>(); }
  [[nodiscard]] const Dict* dict() const { return shared<const Dict>(); }
  [[nodiscard]] const Loop* loop() const { return shared<const Loop>(); }
  [[nodiscard]] const Method* method() const { return shared<const Method>(); }

  [[nodiscard]] bool is_undefined() const { return get<Undefined>() != nullptr; }
  [[nodiscard]] bool is_none() const { return get<None>() != nullptr; }
  /// bool, int or float: Python's booleans are numbers.
  [[nodiscard]] bool is_number() const {
    return get<bool>() != nullptr || get<std::int64_t>() != nullptr || get<double>() != nullptr;
  }
  /// The number if it is an int or a bool.
  [[nodiscard]] bool to_integer(std::int64_t& out) const;
  [[nodiscard]] double to_double() const;  ///< of a number
  /// Python's name of the type, for messages.
  [[nodiscard]] std::string type_name() const;
  /// How deep values are nested in it; bounds every recursion over values.
  [[nodiscard]] std::size_t depth() const;
  [[nodiscard]] bool same_as(const Value& other) const;  ///< Python's `is`

 private:
  template <class T>
  [[nodiscard]] T* shared() const {
    const auto* pointer = std::get_if<std::shared_ptr<T>>(&data_);
    return pointer == nullptr ? nullptr : pointer->get();
  }
  Data data_;
};

/// Lists and what iterates like one.
struct Sequence {
  enum class Form {
    list,
    tuple,
    range,
    view,       ///< of a mapping: has a length, no index
    generator,  ///< what filters yield: no length, no index, can be walked once
  };
  Form form = Form::list;
  std::vector<Value> items;
  std::size_t depth = 1;
  bool is_used_up = false;  ///< a generator that was walked
  [[nodiscard]] bool has_index() const {
    return form == Form::list || form == Form::tuple || form == Form::range;
  }
};

/// A mapping in the order of insertion.
class Dict {
 public:
  using Entry = std::pair<Value, Value>;
  /// The value of an equal key is replaced and keeps its place. Keys must be hashable.
  void set(const Value& key, Value value);
  [[nodiscard]] const Value* find(const Value& key) const;
  [[nodiscard]] const Value* find(std::string_view key) const;
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] std::size_t depth() const { return depth_; }
  /// Whether Python could use it as a key, and it has few enough parts for us.
  [[nodiscard]] static bool is_hashable(const Value& key);

 private:
  static constexpr std::size_t most_key_parts = 1000;
  static bool is_hashable(const Value& key, std::size_t& left);
  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::size_t> index_;
  std::size_t depth_ = 1;
};

/// `loop` inside a for block, as it was when it was asked for.
struct Loop {
  std::shared_ptr<const std::vector<Value>> items;
  std::size_t index0 = 0;
  std::size_t depth = 1;
};

/// A method together with the value that it was taken from.
struct Method {
  Value receiver;
  std::string name;
};

struct Namespace {
  std::unordered_map<std::string, Value> attributes;
};

}  // namespace physarum::text::jinja
