#include "template_print.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "template_unicode.hpp"

namespace physarum::text::jinja {

namespace {

std::string escaped(char32_t character) {
  std::array<char, 16> buffer{};
  const char* format = character < 0x100 ? "\\x%02x" : character < 0x10000 ? "\\u%04x" : "\\U%08x";
  std::snprintf(buffer.data(), buffer.size(), format, static_cast<unsigned>(character));
  return buffer.data();
}

Text quote(const Text& text) {
  const std::string& bytes = text.bytes();
  const bool has_single = bytes.find('\'') != std::string::npos;
  const char mark = has_single && bytes.find('"') == std::string::npos ? '"' : '\'';
  const std::string_view mark_text(&mark, 1);
  Text out(mark_text);
  for (std::size_t at = 0; at < bytes.size();) {
    const auto [character, length] = character_at(bytes, at);
    if (character == static_cast<char32_t>(mark) || character == U'\\') {
      out.append_like("\\", text, at);
      out.append(text, at, at + length);
    } else if (character == U'\n') {
      out.append_like("\\n", text, at);
    } else if (character == U'\r') {
      out.append_like("\\r", text, at);
    } else if (character == U'\t') {
      out.append_like("\\t", text, at);
    } else if (!is_printable(character)) {
      out.append_like(escaped(character), text, at);
    } else {
      out.append(text, at, at + length);
    }
    at += length;
  }
  out.append(mark_text);
  return out;
}

class Printer {
 public:
  explicit Printer(Machine& machine) : machine_(machine) {}

  void print(const Value& value) {
    machine_.step();
    if (const Text* text = value.text()) {
      machine_.work(text->size());
      if (text->is_markup()) out_.append("Markup(");
      out_.append(quote(*text));
      if (text->is_markup()) out_.append(")");
    } else if (value.is_none()) {
      out_.append("None");
    } else if (const bool* boolean = value.get<bool>()) {
      out_.append(*boolean ? "True" : "False");
    } else if (const auto* integer = value.get<std::int64_t>()) {
      out_.append(std::to_string(*integer));
    } else if (const double* real = value.get<double>()) {
      out_.append(print_float(*real));
    } else if (value.is_undefined()) {
      out_.append("Undefined");
    } else if (const Sequence* sequence = value.sequence()) {
      print_sequence(*sequence);
    } else if (const Dict* dict = value.dict()) {
      print_dict(*dict);
    } else {
      machine_.lacks("the text of a " + value.type_name());
    }
    machine_.charge(out_.cost() - charged_);
    charged_ = out_.cost();
  }
  Text take() { return std::move(out_); }

 private:
  void print_sequence(const Sequence& sequence) {
    if (!sequence.has_index() || sequence.form == Sequence::Form::range) {
      machine_.lacks(
          "the text of a range, a view or what a filter yields; use 'list' on it first:"
          " it");
    }
    const bool is_list = sequence.form == Sequence::Form::list;
    out_.append(is_list ? "[" : "(");
    for (std::size_t i = 0; i < sequence.items.size(); ++i) {
      if (i != 0) out_.append(", ");
      print(sequence.items[i]);
    }
    if (!is_list && sequence.items.size() == 1) out_.append(",");
    out_.append(is_list ? "]" : ")");
  }

  void print_dict(const Dict& dict) {
    out_.append("{");
    bool is_first = true;
    for (const auto& [key, value] : dict.entries()) {
      if (!is_first) out_.append(", ");
      is_first = false;
      print(key);
      out_.append(": ");
      print(value);
    }
    out_.append("}");
  }

  Machine& machine_;
  Text out_;
  std::size_t charged_ = Text().cost();
};

}  // namespace

std::string print_float(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 64> buffer{};
  const auto scientific = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                        std::chars_format::scientific);
  std::string text(buffer.data(), scientific.ptr);
  const std::size_t mark = text.find('e');
  const int exponent = std::atoi(text.c_str() + mark + 1);
  constexpr int first_scientific = 16;  // Python's choice, both ways
  if (exponent < -4 || exponent >= first_scientific) return text;
  const auto fixed =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed);
  text.assign(buffer.data(), fixed.ptr);
  return text.find('.') == std::string::npos ? text + ".0" : text;
}

Text to_repr(Machine& machine, const Value& value) {
  Printer printer(machine);
  printer.print(value);
  return printer.take();
}

Text to_text(Machine& machine, const Value& value) {
  if (const Text* text = value.text()) {
    machine.charge(text->cost());
    machine.work(text->size());
    return *text;
  }
  if (value.is_undefined()) return Text();
  return to_repr(machine, value);
}

}  // namespace physarum::text::jinja
