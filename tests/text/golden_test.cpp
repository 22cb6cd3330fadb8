// Against Hugging Face's library: tests/golden/make_tokenizer_golden.py made the data.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "physarum/text/stream_decoder.hpp"
#include "physarum/text/tokenizer.hpp"

#include "normalize.hpp"

namespace physarum::text {
namespace {

using base::TokenId;
using nlohmann::json;
using Ids = std::vector<TokenId>;

const std::filesystem::path data = PHYSARUM_TEST_DATA;

json read_json(const std::filesystem::path& path) {
  std::ifstream file(path);
  return json::parse(file);
}

struct Kind {
  std::string name;
  Tokenizer tokenizer;
  json golden;
  std::vector<std::string> texts;
};

Kind load(const std::string& name) {
  const auto path = name == "builtin"
                        ? std::filesystem::path(PHYSARUM_INPUTS) / "model-small/tokenizer.json"
                        : data / (name + ".tokenizer.json");
  const bool is_odd =
      name == "unknown" || name == "fused" || name == "dropped" || name == "empty_matches";
  return {
      name, Tokenizer::from_file(path), read_json(data / (name + ".golden.json")),
      read_json(data / (is_odd ? "odd_texts.json" : "texts.json")).get<std::vector<std::string>>()};
}

class Golden : public testing::TestWithParam<const char*> {};

TEST_P(Golden, encodes_as_the_reference_with_special_tokens_parsed) {
  const Kind kind = load(GetParam());
  ASSERT_EQ(kind.golden["parsed"].size(), kind.texts.size());
  for (std::size_t i = 0; i < kind.texts.size(); ++i) {
    EXPECT_EQ(kind.tokenizer.encode(kind.texts[i], SpecialTokens::parse),
              kind.golden["parsed"][i].get<Ids>())
        << i << ": " << kind.texts[i];
  }
}

TEST_P(Golden, encodes_as_the_reference_with_special_tokens_literal) {
  const Kind kind = load(GetParam());
  for (std::size_t i = 0; i < kind.texts.size(); ++i) {
    const auto key = std::to_string(i);
    const json& differs = kind.golden["literal"];
    const json& expected = differs.contains(key) ? differs[key] : kind.golden["parsed"][i];
    EXPECT_EQ(kind.tokenizer.encode(kind.texts[i], SpecialTokens::literal), expected.get<Ids>())
        << i << ": " << kind.texts[i];
  }
}

TEST_P(Golden, decodes_as_the_reference_even_broken_characters) {
  const Kind kind = load(GetParam());
  for (const json& entry : kind.golden["decoded"]) {
    const auto ids = entry[0].get<Ids>();
    EXPECT_EQ(kind.tokenizer.decode(ids, DecodeSpecial::keep), entry[1].get<std::string>());
    EXPECT_EQ(kind.tokenizer.decode(ids, DecodeSpecial::skip), entry[2].get<std::string>());
  }
}

TEST_P(Golden, streams_the_same_text_that_it_decodes) {
  const Kind kind = load(GetParam());
  const auto check = [&](const Ids& ids) {
    StreamDecoder decoder(kind.tokenizer, DecodeSpecial::keep);
    std::string text;
    for (const TokenId id : ids) text += decoder.push(id);
    text += decoder.finish();
    EXPECT_EQ(text, kind.tokenizer.decode(ids, DecodeSpecial::keep));
  };
  for (const json& entry : kind.golden["decoded"]) check(entry[0].get<Ids>());
  for (const json& entry : kind.golden["parsed"]) check(entry.get<Ids>());
}

INSTANTIATE_TEST_SUITE_P(Kinds, Golden,
                         testing::Values("builtin", "qwen", "gpt2", "llama", "stages", "unknown",
                                         "fused", "dropped", "empty_matches"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST(Tokenizer, gives_the_text_back) {
  for (const char* name : {"builtin", "llama"}) {
    const Kind kind = load(name);
    for (const std::string& text : kind.texts) {
      for (const auto special : {SpecialTokens::parse, SpecialTokens::literal}) {
        std::string storage;
        const auto expected =
            kind.name == "builtin" ? normalize(NormalForm::nfc, text, storage) : text;
        EXPECT_EQ(kind.tokenizer.decode(kind.tokenizer.encode(text, special), DecodeSpecial::keep),
                  expected);
      }
    }
  }
}

}  // namespace
}  // namespace physarum::text
