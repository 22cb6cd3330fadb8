#include "gguf_pre_tokenizer.hpp"

#include <algorithm>
#include <array>

#include "physarum/base/error.hpp"

namespace physarum::model {

namespace {

using Json = nlohmann::ordered_json;

/// How text is cut before merging, as the tokenizer.json of the first model of the kind says.
enum class Kind {
  gpt2,       ///< ByteLevel with its own pattern
  digits,     ///< each digit alone, then as gpt2 (SmolLM, StarCoder)
  llama3,     ///< digits in threes; whole pieces that are tokens are not merged
  qwen2,      ///< each digit alone; NFC
  qwen2_raw,  ///< the same without NFC (DeepSeek-R1's distilled Qwen)
};

struct Name {
  std::string_view name;
  Kind kind;
};
/// A file without a name, or with `default`, was written before there were names.
constexpr std::array names{Name{"", Kind::gpt2},
                           Name{"default", Kind::gpt2},
                           Name{"gpt-2", Kind::gpt2},
                           Name{"smollm", Kind::digits},
                           Name{"starcoder", Kind::digits},
                           Name{"refact", Kind::digits},
                           Name{"llama-bpe", Kind::llama3},
                           Name{"llama3", Kind::llama3},
                           Name{"llama-v3", Kind::llama3},
                           Name{"qwen2", Kind::qwen2},
                           Name{"deepseek-r1-qwen", Kind::qwen2_raw}};

constexpr const char* llama3_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* qwen2_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

Json byte_level(bool with_pattern) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", true},
          {"use_regex", with_pattern}};
}

Json sequence(Json first, Json second) {
  return {{"type", "Sequence"}, {"pretokenizers", {std::move(first), std::move(second)}}};
}

Json split(const char* pattern) {
  return {{"type", "Split"},
          {"pattern", {{"Regex", pattern}}},
          {"behavior", "Isolated"},
          {"invert", false}};
}

}  // namespace

PreTokenizer pre_tokenizer_of(const std::string& name, std::string_view where) {
  const auto at = std::ranges::find(names, name, &Name::name);
  if (at == names.end()) {
    throw base::UserError("'tokenizer.ggml.pre' is '" + name + "'", where,
                          "gpt-2, smollm, starcoder, refact, llama-bpe, qwen2 and "
                          "deepseek-r1-qwen are supported");
  }
  switch (at->kind) {
    case Kind::digits:
      return {nullptr,
              sequence({{"type", "Digits"}, {"individual_digits", true}}, byte_level(true)), false};
    case Kind::llama3:
      return {nullptr, sequence(split(llama3_pattern), byte_level(false)), true};
    case Kind::qwen2:
      return {{{"type", "NFC"}}, sequence(split(qwen2_pattern), byte_level(false)), false};
    case Kind::qwen2_raw:
      return {nullptr, sequence(split(qwen2_pattern), byte_level(false)), false};
    case Kind::gpt2:
      break;
  }
  return {nullptr, byte_level(true), false};
}

}  // namespace physarum::model
