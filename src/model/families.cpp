#include "families.hpp"

#include <algorithm>
#include <string>
#include <vector>

// All families, one a line: NAME stands for NAME_family, which family_NAME.cpp defines.
#define PHYSARUM_FAMILIES(FAMILY) \
  FAMILY(llama)                   \
  FAMILY(mistral)                 \
  FAMILY(mixtral)                 \
  FAMILY(qwen2)                   \
  FAMILY(qwen3)                   \
  FAMILY(qwen3_moe)

namespace physarum::model {

#define PHYSARUM_DECLARE(NAME) extern const Family NAME##_family;
PHYSARUM_FAMILIES(PHYSARUM_DECLARE)
#undef PHYSARUM_DECLARE

namespace {
#define PHYSARUM_ENTRY(NAME) &NAME##_family,
constexpr const Family* families[] = {PHYSARUM_FAMILIES(PHYSARUM_ENTRY)};
#undef PHYSARUM_ENTRY
}  // namespace

const Family* find_family(std::string_view model_type) {
  const auto* found = std::ranges::find_if(
      families, [&](const Family* family) { return model_type == family->model_type; });
  return found == std::end(families) ? nullptr : *found;
}

std::vector<std::string> model_types() {
  std::vector<std::string> names;
  for (const auto* family : families) names.emplace_back(family->model_type);
  return names;
}

}  // namespace physarum::model
