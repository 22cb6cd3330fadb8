#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "template_methods.hpp"
#include "template_operators.hpp"
#include "template_print.hpp"
#include "template_unicode.hpp"

namespace physarum::text::jinja {

namespace {

/// One printf directive, as Python reads it.
struct Directive {
  bool left = false, zero = false, sign = false, space = false, alternate = false;
  std::size_t width = 0;
  std::optional<std::size_t> precision;
  char type = 's';
};

/// Hands out the values of a format, by place or by name.
class Values {
 public:
  Values(Machine& machine, const Value& arguments) : machine_(machine), all_(arguments) {
    const Sequence* tuple = arguments.sequence();
    if (tuple != nullptr && tuple->form == Sequence::Form::tuple) {
      values_ = tuple->items;
    } else {
      values_.push_back(arguments);
    }
  }

  Value next() {
    if (used_ == values_.size()) machine_.fail("a format string wants more values than there are");
    return values_[used_++];
  }

  Value named(std::string_view name) {
    if (all_.dict() == nullptr) machine_.fail("a format string with names wants a mapping");
    by_name_ = true;
    const Value* found = all_.dict()->find(name);
    if (found == nullptr) {
      machine_.fail("a format string wants '" + std::string(name) + "', which is not given");
    }
    return *found;
  }

  /// What can be asked for an item by a key may stay unused, as Python has it.
  void expect_all_used() const {
    const Sequence* sequence = all_.sequence();
    const bool has_items =
        all_.dict() != nullptr || all_.is_undefined() ||
        (sequence != nullptr && sequence->has_index() && sequence->form != Sequence::Form::tuple);
    if (!by_name_ && !has_items && used_ != values_.size()) {
      machine_.fail("a format string has fewer places than there are values");
    }
  }

 private:
  Machine& machine_;
  const Value& all_;
  std::vector<Value> values_;
  std::size_t used_ = 0;
  bool by_name_ = false;
};

class Printf {
 public:
  Printf(Machine& machine, const Text& format, const Value& arguments)
      : machine_(machine), format_(format), text_(format.bytes()), values_(machine, arguments) {}

  Text run() {
    while (at_ < text_.size()) {
      const std::size_t mark = std::min(text_.find('%', at_), text_.size());
      out_.append(format_, at_, mark);
      at_ = mark;
      if (at_ < text_.size()) directive();
    }
    values_.expect_all_used();
    return std::move(out_);
  }

 private:
  char take() {
    if (at_ == text_.size()) machine_.fail("a format string ends inside a directive");
    return text_[at_++];
  }

  std::size_t number() {
    std::size_t value = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      value = value * 10 + static_cast<std::size_t>(text_[at_++] - '0');
      if (value > machine_.limits().output_bytes) machine_.fail("a format is too wide");
    }
    return value;
  }

  void directive() {
    ++at_;
    std::optional<std::string_view> name;
    if (at_ < text_.size() && text_[at_] == '(') {
      const std::size_t end = text_.find(')', at_);
      if (end == std::string_view::npos) machine_.fail("a format string ends inside a name");
      name = text_.substr(at_ + 1, end - at_ - 1);
      at_ = end + 1;
    }
    Directive directive;
    for (;; ++at_) {
      const char flag = at_ < text_.size() ? text_[at_] : '\0';
      if (flag == '-')
        directive.left = true;
      else if (flag == '0')
        directive.zero = true;
      else if (flag == '+')
        directive.sign = true;
      else if (flag == ' ')
        directive.space = true;
      else if (flag == '#')
        directive.alternate = true;
      else
        break;
    }
    directive.width = number();
    if (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      directive.precision = number();
    }
    directive.type = take();
    if (directive.type == '%') return out_.append("%");
    write(directive, name ? values_.named(*name) : values_.next());
  }

  void write(const Directive& directive, const Value& value) {
    switch (directive.type) {
      case 's':
        return pad(directive, cut(directive, to_text(machine_, value)));
      case 'r':
        return pad(directive, cut(directive, to_repr(machine_, value)));
      case 'd':
      case 'i':
      case 'u':
      case 'x':
      case 'X':
      case 'o':
        return write_integer(directive, value);
      case 'f':
      case 'F':
      case 'e':
      case 'E':
      case 'g':
      case 'G':
        return write_real(directive, value);
      default:
        machine_.lacks("the format directive '%" + std::string(1, directive.type) + "'");
    }
  }

  static Text cut(const Directive& directive, Text text) {
    if (!directive.precision) return text;
    const auto offsets = character_offsets(text.bytes());
    if (*directive.precision >= offsets.size() - 1) return text;
    return text.substring(0, offsets[*directive.precision]);
  }

  void pad(const Directive& directive, const Text& text) {
    const std::size_t length = count_characters(text.bytes());
    const std::size_t missing = directive.width > length ? directive.width - length : 0;
    machine_.charge(missing);
    const std::string spaces(missing, ' ');
    if (!directive.left) out_.append(spaces);
    out_.append(text);
    if (directive.left) out_.append(spaces);
  }

  void write_integer(const Directive& directive, const Value& value) {
    std::int64_t number = 0;
    if (!value.to_integer(number)) {
      const double* real = value.get<double>();
      const bool decimal = directive.type == 'd' || directive.type == 'i' || directive.type == 'u';
      if (real == nullptr || !decimal || !(std::abs(*real) < 9e18)) {
        machine_.fail("a format string wants an integer, not " + value.type_name());
      }
      number = static_cast<std::int64_t>(*real);
    }
    if (directive.alternate) machine_.lacks("the format flag '#'");
    const bool is_decimal = directive.type != 'x' && directive.type != 'X' && directive.type != 'o';
    const auto magnitude = number < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(number)
                                      : static_cast<std::uint64_t>(number);
    std::array<char, 32> digits{};
    const char* format = is_decimal              ? "%lu"
                         : directive.type == 'x' ? "%lx"
                         : directive.type == 'X' ? "%lX"
                                                 : "%lo";
    std::snprintf(digits.data(), digits.size(), format, magnitude);
    std::string text = digits.data();
    if (directive.precision && *directive.precision > text.size()) {
      machine_.charge(*directive.precision);
      text.insert(0, *directive.precision - text.size(), '0');
    }
    put_number(directive, number < 0, text);
  }

  void write_real(const Directive& directive, const Value& value) {
    if (!value.is_number()) {
      machine_.fail("a format string wants a number, not " + value.type_name());
    }
    if (directive.alternate) machine_.lacks("the format flag '#'");
    constexpr std::size_t most_digits = 300;
    const std::size_t precision = directive.precision.value_or(6);
    if (precision > most_digits) machine_.lacks("a format with more than 300 digits");
    std::array<char, 700> digits{};  // 309 digits, the point and 300 more
    const double number = value.to_double();
    const std::string format = std::string("%.*") + directive.type;
    const double magnitude = std::abs(number);
    std::snprintf(digits.data(), digits.size(), format.c_str(), static_cast<int>(precision),
                  magnitude);
    put_number(directive, std::signbit(number), digits.data());
  }

  void put_number(const Directive& directive, bool is_negative, std::string text) {
    const std::string sign = is_negative ? "-" : directive.sign ? "+" : directive.space ? " " : "";
    if (directive.zero && !directive.left && sign.size() + text.size() < directive.width) {
      machine_.charge(directive.width);
      text.insert(0, directive.width - sign.size() - text.size(), '0');
    }
    pad(directive, Text(sign + text));
  }

  Machine& machine_;
  const Text& format_;
  std::string_view text_;
  Values values_;
  std::size_t at_ = 0;
  Text out_;
};

/// The value of a replacement field: "", "0", "name", and ".attribute" or "[key]" behind it.
Value field_value(Machine& machine, std::string_view field, const Arguments& arguments,
                  std::size_t& next) {
  if (field.find_first_of("!:.[") != std::string_view::npos) {
    machine.lacks("the replacement field '{" + std::string(field.substr(0, 40)) +
                  "}' of str.format");
  }
  const bool is_number =
      std::all_of(field.begin(), field.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (is_number) {
    constexpr std::size_t longest = 6;
    if (field.size() > longest) machine.fail("str.format has no value of that number");
    const std::size_t index =
        field.empty() ? next++ : static_cast<std::size_t>(std::stoul(std::string(field)));
    if (index >= arguments.positional.size()) {
      machine.fail("str.format wants a value number " + std::to_string(index) +
                   ", which is not given");
    }
    return arguments.positional[index];
  }
  for (const auto& [name, value] : arguments.named) {
    if (name == field) return value;
  }
  machine.fail("str.format wants '" + std::string(field) + "', which is not given");
}

}  // namespace

Text format_printf(Machine& machine, const Text& format, const Value& arguments) {
  machine.work(format.size());
  return Printf(machine, format, arguments).run();
}

Text format_fields(Machine& machine, const Text& format, const Arguments& arguments) {
  machine.work(format.size());
  const std::string_view text = format.bytes();
  Text out;
  std::size_t next = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t brace = std::min(text.find_first_of("{}", at), text.size());
    out.append(format, at, brace);
    if (brace == text.size()) break;
    if (brace + 1 < text.size() && text[brace + 1] == text[brace]) {
      out.append(format, brace, brace + 1);
      at = brace + 2;
      continue;
    }
    const std::size_t end = text[brace] == '{' ? text.find('}', brace) : std::string_view::npos;
    if (end == std::string_view::npos) machine.fail("a single brace in the text of str.format");
    machine.step();
    out.append(to_text(
        machine, field_value(machine, text.substr(brace + 1, end - brace - 1), arguments, next)));
    at = end + 1;
  }
  return out;
}

}  // namespace physarum::text::jinja
