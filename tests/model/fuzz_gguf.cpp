// Any bytes are a GGUF file that is read or refused: header, tensors, configuration, tokenizer.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "physarum/base/error.hpp"

#include "physarum/model/config.hpp"
#include "physarum/model/gguf_model.hpp"

namespace {

namespace model = physarum::model;

/// Runs `call`; what is refused is fine.
template <class Call>
void attempt(Call call) {
  try {
    call();
  } catch (const physarum::base::UserError&) {
  }
}

void decode_all(const model::GgufView& view) {
  for (const auto& tensor : view.header.tensors) {
    const auto bytes = view.file.subspan(static_cast<std::size_t>(tensor.begin),
                                         static_cast<std::size_t>(tensor.end - tensor.begin));
    const auto elements = tensor.elements();
    std::vector<float> values(static_cast<std::size_t>(std::min<std::int64_t>(elements, 4096)));
    model::decode_range(tensor.type, bytes, elements - static_cast<std::int64_t>(values.size()),
                        values);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  attempt([&] {
    const auto header = model::parse_gguf_header(file, "input");
    const model::GgufView view{header, file, "input"};
    decode_all(view);
    attempt([&] { (void)model::ModelConfig::from_json(model::gguf_config_json(view), "input"); });
    attempt([&] { (void)model::gguf_tokenizer_files(view); });
  });
  return 0;
}
