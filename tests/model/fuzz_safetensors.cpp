// Any bytes are a safetensors file that is read or refused.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "physarum/base/error.hpp"

#include "physarum/model/safetensors.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace model = physarum::model;
  const auto file = std::as_bytes(std::span(data, size));
  try {
    const auto header = model::read_safetensors_header(file, "input");
    for (const auto& tensor : header.tensors) {
      const auto bytes = file.subspan(static_cast<std::size_t>(header.data_begin + tensor.begin),
                                      static_cast<std::size_t>(tensor.end - tensor.begin));
      std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
      model::decode_blocks(model::block_type(tensor.type), bytes, values);
    }
  } catch (const physarum::base::UserError&) {
  }
  return 0;
}
