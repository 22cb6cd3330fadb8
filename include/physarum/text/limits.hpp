#pragma once

#include <cstddef>

namespace physarum::text {

/// What a tokenizer file may ask for at most. Files come from strangers: each limit is checked
/// before the memory or time that it guards is spent. All inclusive.
struct TokenizerLimits {
  std::size_t file_bytes = std::size_t{64} << 20;
  std::size_t json_depth = 64;
  std::size_t tokens = std::size_t{1} << 20;
  std::size_t merges = std::size_t{1} << 21;
  std::size_t added_tokens = std::size_t{1} << 16;
  std::size_t token_bytes = std::size_t{1} << 14;
  std::size_t pattern_bytes = std::size_t{1} << 14;
  std::size_t stages = 64;  ///< pre-tokenizer steps in a row
};

}  // namespace physarum::text
