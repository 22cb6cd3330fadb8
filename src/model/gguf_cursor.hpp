#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace physarum::model {

/// Reads a GGUF header from front to back. Whatever is wrong is a UserError that names the place in
/// the file.
class GgufCursor {
 public:
  GgufCursor(std::span<const std::byte> file, std::string_view where)
      : file_(file), where_(where) {}

  [[nodiscard]] std::uint64_t place() const { return at_; }
  [[nodiscard]] std::uint64_t left() const { return file_.size() - at_; }

  template <class T>
  requires std::is_arithmetic_v<T>
  [[nodiscard]] T get(std::string_view what) {
    need(sizeof(T), what);
    T value;
    std::memcpy(&value, file_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  /// A length and so many bytes of UTF-8.
  [[nodiscard]] std::string text(std::string_view what, std::uint64_t most_bytes);
  /// `count` things of at least `bytes_each` are still there, and there are not more than `most`.
  void need_items(std::uint64_t count, std::uint64_t bytes_each, std::uint64_t most,
                  std::string_view what) const;

  [[noreturn]] void refuse(const std::string& what) const;

 private:
  void need(std::uint64_t bytes, std::string_view what) const;
  std::span<const std::byte> file_;
  std::string_view where_;
  std::uint64_t at_ = 0;
};

}  // namespace physarum::model
