#include <string>

#include "physarum/base/error.hpp"

#include "physarum/model/hf_directory.hpp"

#include "config_fields.hpp"
#include "read_file.hpp"
#include "strict_json.hpp"

namespace physarum::model {

namespace {
constexpr std::uint64_t largest_generation_config_bytes = std::uint64_t{1} << 20;
}

ModelConfig read_hf_config(const std::filesystem::path& directory) {
  auto config = ModelConfig::from_file(directory / "config.json");
  const auto path = directory / "generation_config.json";
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return config;
  const auto json =
      parse_strict_json(read_file(path, largest_generation_config_bytes), path.string());
  const ConfigFields fields(json, path.string());
  if (!fields.has("eos_token_id")) return config;
  config.eos_token_ids = fields.token_ids("eos_token_id");
  config.validate(path.string());
  return config;
}

}  // namespace physarum::model
