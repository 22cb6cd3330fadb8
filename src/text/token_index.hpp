#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "physarum/base/ids.hpp"

namespace physarum::text {

/// Finds tokens by their bytes. Keeps no copy of them: all calls must name the same list, which
/// only grows at its end.
class TokenIndex {
 public:
  TokenIndex() : TokenIndex(0) {}
  /// `expected`: how many tokens will be added at most.
  explicit TokenIndex(std::size_t expected);

  /// A token whose bytes are there already is left out.
  void add(const std::vector<std::string>& tokens, base::TokenId id);
  /// Nothing if no token has these bytes.
  [[nodiscard]] std::optional<base::TokenId> find(const std::vector<std::string>& tokens,
                                                  std::string_view bytes) const;

 private:
  struct Slot {
    std::uint32_t hash;
    base::TokenId id;  ///< −1: free
  };
  [[nodiscard]] std::size_t slot_of(const std::vector<std::string>& tokens, std::uint32_t hash,
                                    std::string_view bytes) const;
  std::vector<Slot> slots_;  ///< open addressing, at most half full
  std::size_t used_ = 0;
};

}  // namespace physarum::text
