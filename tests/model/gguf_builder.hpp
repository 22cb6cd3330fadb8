#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace physarum::model {

/// Writes GGUF files, good and bad ones, from front to back.
class GgufBuilder {
 public:
  enum Type : std::uint32_t {
    u8,
    i8,
    u16,
    i16,
    u32,
    i32,
    f32,
    boolean,
    string,
    array,
    u64,
    i64,
    f64
  };

  template <class T>
  requires std::is_arithmetic_v<T> GgufBuilder& put(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  GgufBuilder& put_text(std::string_view text) {
    put<std::uint64_t>(text.size());
    text_.append(text);
    return *this;
  }
  GgufBuilder& head(std::uint64_t tensors, std::uint64_t entries, std::uint32_t version = 3) {
    text_.append("GGUF");
    return put(version).put(tensors).put(entries);
  }
  GgufBuilder& key(std::string_view name, Type type) {
    return put_text(name).put<std::uint32_t>(type);
  }
  GgufBuilder& entry(std::string_view name, std::string_view value) {
    return key(name, string).put_text(value);
  }
  GgufBuilder& entry(std::string_view name, std::uint32_t value) {
    return key(name, u32).put(value);
  }
  GgufBuilder& tensor(std::string_view name, const std::vector<std::uint64_t>& reversed_shape,
                      std::uint32_t type, std::uint64_t offset) {
    put_text(name).put(static_cast<std::uint32_t>(reversed_shape.size()));
    for (const auto extent : reversed_shape) put(extent);
    return put(type).put(offset);
  }
  GgufBuilder& pad(std::size_t alignment = 32) {
    text_.resize((text_.size() + alignment - 1) / alignment * alignment, '\0');
    return *this;
  }
  GgufBuilder& data(std::size_t bytes) {
    text_.append(bytes, '\0');
    return *this;
  }
  GgufBuilder& raw(std::string_view text) {
    text_.append(text);
    return *this;
  }

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return std::as_bytes(std::span(text_)); }

 private:
  std::string text_;
};

}  // namespace physarum::model
