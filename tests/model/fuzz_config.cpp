// Any bytes are a config.json that is read or refused; what is read can be written and read again,
// and has a layout.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "physarum/base/error.hpp"

#include "physarum/model/config.hpp"
#include "physarum/model/parameter_layout.hpp"

namespace {

namespace model = physarum::model;

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const model::ModelConfig& config) {
  require(config.parameter_count() > 0);
  require(model::ModelConfig::from_json(config.to_json(), "written") == config);
  // Names of some thousand tensors take a while: not at every mutation.
  if (config.num_hidden_layers * (config.experts.count + 1) > 200) return;
  std::int64_t count = 0;
  for (const auto& spec : model::tensor_specs(config)) {
    std::int64_t size = 1;
    for (const auto extent : spec.shape) size *= extent;
    count += size;
  }
  require(count == config.parameter_count());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    check(
        model::ModelConfig::from_json({reinterpret_cast<const char*>(data), size}, "config.json"));
  } catch (const physarum::base::UserError&) {
  }
  return 0;
}
