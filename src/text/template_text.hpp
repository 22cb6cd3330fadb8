#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace physarum::text::jinja {

/// Where characters come from: the template itself (and the names of special tokens), other input
/// (tools, template arguments), or one of the messages.
using Origin = std::uint32_t;
inline constexpr Origin from_template = 0;
inline constexpr Origin from_input = 1;
inline constexpr Origin first_message = 2;  ///< message i is first_message + i

/// Bytes that have one origin; a text is a row of runs.
struct Run {
  std::size_t end;  ///< offset behind the last byte
  Origin origin;
  bool generated;  ///< inside a {% generation %} block
};

/// A character string that remembers the origin of every byte through all that a template does to
/// it. Only so can content that spells "<|im_end|>" be told from the token of the template. UTF-8.
class Text {
 public:
  Text() = default;
  explicit Text(std::string_view bytes, Origin origin = from_template) { append(bytes, origin); }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] std::span<const Run> runs() const { return runs_; }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  /// Memory that it takes, near enough for a budget.
  [[nodiscard]] std::size_t cost() const {
    return sizeof(Text) + bytes_.size() + runs_.size() * sizeof(Run);
  }

  void append(std::string_view bytes, Origin origin = from_template);
  void append(const Text& other) { append(other, 0, other.size()); }
  /// The bytes [begin, end) of another text.
  void append(const Text& other, std::size_t begin, std::size_t end);
  /// `bytes` stand for the character of `other` at this offset and take its origin.
  void append_like(std::string_view bytes, const Text& other, std::size_t offset);
  [[nodiscard]] Text substring(std::size_t begin, std::size_t end) const;
  [[nodiscard]] Origin origin_at(std::size_t offset) const;
  void mark_generated();

  /// What `safe` made of it: joined to plain text by `+`, it escapes that text for HTML.
  [[nodiscard]] bool is_markup() const { return is_markup_; }
  void set_markup() { is_markup_ = true; }

 private:
  void add_run(std::size_t end, Origin origin, bool generated);
  [[nodiscard]] std::size_t run_at(std::size_t offset) const;

  std::string bytes_;
  std::vector<Run> runs_;
  bool is_markup_ = false;
};

}  // namespace physarum::text::jinja
