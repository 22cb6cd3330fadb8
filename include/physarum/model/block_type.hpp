#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace physarum::model {

/// How a file stores elements: one by one, or in blocks of quantised ones with common scales. Names
/// and forms of the quantised ones are ggml's.
enum class BlockType { f32, f16, bf16, q8_0, q4_0, q4_1, q4_k, q6_k };

struct BlockForm {
  std::string_view name;      ///< "F32", "Q4_K"
  std::int64_t elements = 1;  ///< of one block, neighbours in a row
  std::int64_t bytes = 4;     ///< of one block
};
[[nodiscard]] const BlockForm& block_form(BlockType type);

/// Whole blocks to fp32: out.size() / elements blocks of bytes. The values are the products and
/// sums that ggml's format defines, each rounded once to fp32: the bits of the gguf Python package.
void decode_blocks(BlockType type, std::span<const std::byte> blocks, std::span<float> out);

/// The elements [first, first + out.size()) of a tensor whose bytes are `tensor`; the range lies
/// inside it and may cut blocks.
void decode_range(BlockType type, std::span<const std::byte> tensor, std::int64_t first,
                  std::span<float> out);

}  // namespace physarum::model
