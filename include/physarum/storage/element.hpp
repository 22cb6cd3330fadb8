#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace physarum::storage {

/// What a dataset may hold. Written little-endian; bf16 travels as uint16.
enum class Element { i8, u8, i16, u16, i32, u32, i64, u64, f32, f64, text };

template <class T>
concept Storable = std::integral<T> || std::same_as<T, float> || std::same_as<T, double> ||
    std::same_as<T, std::byte>;

template <Storable T>
[[nodiscard]] constexpr Element element_of() {
  if constexpr (std::same_as<T, float>) return Element::f32;
  if constexpr (std::same_as<T, double>) return Element::f64;
  if constexpr (std::same_as<T, std::byte>) return Element::u8;
  if constexpr (std::integral<T>) {
    constexpr bool is_signed = std::is_signed_v<T>;
    if constexpr (sizeof(T) == 1) return is_signed ? Element::i8 : Element::u8;
    if constexpr (sizeof(T) == 2) return is_signed ? Element::i16 : Element::u16;
    if constexpr (sizeof(T) == 4) return is_signed ? Element::i32 : Element::u32;
    if constexpr (sizeof(T) == 8) return is_signed ? Element::i64 : Element::u64;
  }
}

/// Bytes of one element; 1 for text.
[[nodiscard]] std::size_t element_bytes(Element element) noexcept;
/// "float32", "int64", ..., "text"; as numpy says it.
[[nodiscard]] std::string_view element_name(Element element) noexcept;

}  // namespace physarum::storage
