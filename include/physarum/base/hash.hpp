#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace physarum::base {

/// XXH3, 64 bits: identifies inputs and catalogues.
[[nodiscard]] std::uint64_t hash64(std::span<const std::byte> bytes, std::uint64_t seed = 0);
[[nodiscard]] std::uint64_t hash64(std::string_view text, std::uint64_t seed = 0);

/// XXH3, 128 bits: guards weights and files.
struct Digest {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend constexpr auto operator<=>(const Digest&, const Digest&) = default;
  /// 32 hexadecimal digits, high half first.
  [[nodiscard]] std::string hex() const;
};
[[nodiscard]] Digest digest128(std::span<const std::byte> bytes);

}  // namespace physarum::base
