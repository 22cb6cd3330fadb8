#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace physarum::model {

/// What of tokenizer.json follows from tokenizer.ggml.pre.
struct PreTokenizer {
  nlohmann::ordered_json normalizer;     ///< or null
  nlohmann::ordered_json pre_tokenizer;  ///< ends in ByteLevel
  bool ignore_merges = false;
};

/// Throws UserError with `where` that names what is not known.
[[nodiscard]] PreTokenizer pre_tokenizer_of(const std::string& name, std::string_view where);

}  // namespace physarum::model
