#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "physarum/text/chat_template.hpp"

#include "template_error.hpp"
#include "template_value.hpp"

namespace physarum::text::jinja {

/// What a call passes: values by place, then values by name.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

/// The running template as operators, filters, tests and methods see it: the place for complaints,
/// the bounds, and the making of values, which is where memory is counted. The count only grows:
/// it bounds what is alive from above.
class Machine {
 public:
  Machine(std::string_view name, const TemplateLimits& limits, const std::optional<ChatDate>& date)
      : name_(name), limits_(limits), date_(date) {}
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// Complains at the place of the expression that is being evaluated.
  [[noreturn]] void fail(std::string_view what) const;
  [[noreturn]] void fail(std::string_view what, std::string_view mend) const;
  [[noreturn]] void lacks(std::string_view what) const;  ///< something that Jinja has and we do not

  void step(std::size_t count = 1);
  void charge(std::size_t bytes);
  [[nodiscard]] std::size_t steps_taken() const { return steps_; }
  /// Work on that many bytes of text, in steps.
  void work(std::size_t bytes) { step(bytes / 16); }

  [[nodiscard]] Value text(Text text);
  [[nodiscard]] Value text(std::string_view bytes, Origin origin = from_template);
  [[nodiscard]] Value list(std::vector<Value> items, Sequence::Form form = Sequence::Form::list);
  [[nodiscard]] Value tuple(std::vector<Value> items) {
    return list(std::move(items), Sequence::Form::tuple);
  }
  [[nodiscard]] Value dict(Dict entries);
  [[nodiscard]] Value undefined(std::string why);

  [[nodiscard]] virtual Value call(const Value& callee, Arguments arguments) = 0;
  [[nodiscard]] virtual Value apply_filter(const std::string& name, const Value& input,
                                           Arguments arguments) = 0;
  [[nodiscard]] virtual bool apply_test(const std::string& name, const Value& input,
                                        Arguments arguments) = 0;
  [[nodiscard]] virtual Namespace& make_namespace() = 0;

  [[nodiscard]] const TemplateLimits& limits() const { return limits_; }
  [[nodiscard]] const std::optional<ChatDate>& date() const { return date_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  Position at;

 protected:
  ~Machine() = default;

 private:
  void check_depth(std::size_t depth) const;
  std::string name_;
  TemplateLimits limits_;
  std::optional<ChatDate> date_;
  std::size_t steps_ = 0;
  std::size_t bytes_ = 0;
};

/// The arguments of a call sorted to the names of its parameters, as Python does it.
class Bound {
 public:
  Bound(Machine& machine, std::string_view callee, Arguments arguments,
        std::initializer_list<std::string_view> names);
  /// Null if it was not passed.
  [[nodiscard]] const Value* find(std::size_t parameter) const {
    return values_[parameter] ? &*values_[parameter] : nullptr;
  }
  /// A parameter without a default.
  [[nodiscard]] const Value& at(std::size_t parameter) const;
  [[nodiscard]] bool flag(std::size_t parameter, bool otherwise) const;
  [[nodiscard]] std::int64_t integer(std::size_t parameter, std::int64_t otherwise) const;
  /// Must be a string; without one `otherwise`.
  [[nodiscard]] std::string text(std::size_t parameter, std::string_view otherwise) const;

 private:
  Machine& machine_;
  std::string callee_;
  std::vector<std::string_view> names_;
  std::vector<std::optional<Value>> values_;
};

}  // namespace physarum::text::jinja
