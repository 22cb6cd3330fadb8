// What a tokenizer file must not do: each case changes one thing of a good file.
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "physarum/base/error.hpp"
#include "physarum/base/philox.hpp"

#include "physarum/text/tokenizer.hpp"

namespace physarum::text {
namespace {

using nlohmann::json;

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

const std::string good_text =
    read_file(std::string(PHYSARUM_INPUTS) + "/model-small/tokenizer.json");

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const base::UserError& error) {
    return error.what();
  }
  return "no error";
}

std::string load_message(const std::string& text, const std::string& config = "",
                         const TokenizerLimits& limits = {}) {
  return message_of(
      [&] { static_cast<void>(Tokenizer::from_json(text, config, "t.json", limits)); });
}

struct Case {
  const char* name;
  std::function<void(json&)> change;
  const char* expected;  ///< part of the message
};

class BadFile : public testing::TestWithParam<Case> {};

TEST_P(BadFile, is_refused_by_the_name_of_the_field) {
  json file = json::parse(good_text);
  GetParam().change(file);
  const std::string message = load_message(file.dump());
  EXPECT_NE(message.find(GetParam().expected), std::string::npos) << message;
  EXPECT_TRUE(message.starts_with("t.json: ")) << message;
}

json split_stage(const json& pattern) {
  return {{"type", "Split"}, {"pattern", pattern}, {"behavior", "Isolated"}, {"invert", false}};
}
json& pattern_of(json& file) { return file["pre_tokenizer"]["pretokenizers"][0]["pattern"]; }

/// The vocabulary then has no token for this byte.
void remove_percent(json& file) {
  json& vocabulary = file["model"]["vocab"];
  const int id = vocabulary["%"];
  vocabulary.erase("%");
  vocabulary["%%"] = id;
}

const Case cases[] = {
    {"no_model", [](json& f) { f.erase("model"); }, "has no field 'model'"},
    {"model_is_text", [](json& f) { f["model"] = "BPE"; }, "model: must be a JSON object"},
    {"other_model", [](json& f) { f["model"]["type"] = "WordPiece"; }, "model.type: 'WordPiece'"},
    {"dropout", [](json& f) { f["model"]["dropout"] = 0.1; }, "model.dropout: would make"},
    {"byte_fallback",
     [](json& f) {
       remove_percent(f);
       f["model"]["byte_fallback"] = true;
     },
     "model.byte_fallback: is true while model.vocab lacks"},
    {"unknown_token",
     [](json& f) {
       remove_percent(f);
       f["model"]["unk_token"] = "<none>";
     },
     "model.unk_token: names '<none>', which is not in model.vocab"},
    {"suffix", [](json& f) { f["model"]["end_of_word_suffix"] = "</w>"; }, "end_of_word_suffix"},
    {"unknown_model_key", [](json& f) { f["model"]["magic"] = 1; }, "model.magic: is a field"},
    {"unknown_key", [](json& f) { f["extra"] = 1; }, "t.json: extra: is a field"},
    {"vocab_is_list", [](json& f) { f["model"]["vocab"] = json::array(); }, "model.vocab: must be"},
    {"empty_vocab",
     [](json& f) {
       f["model"]["vocab"] = json::object();
       f["added_tokens"] = json::array();
     },
     "model.vocab: has no token with id 0"},
    {"negative_id", [](json& f) { f["model"]["vocab"]["a"] = -1; }, "gives 'a' an id that is no"},
    {"fraction_id", [](json& f) { f["model"]["vocab"]["a"] = 1.5; }, "gives 'a' an id that is no"},
    {"huge_id", [](json& f) { f["model"]["vocab"]["a"] = 1LL << 40; },
     "gives 'a' an id that is no"},
    {"same_id", [](json& f) { f["model"]["vocab"]["a"] = f["model"]["vocab"]["b"]; }, "again"},
    {"hole", [](json& f) { f["model"]["vocab"]["new"] = 600; }, "has no token with id 512"},
    {"empty_name", [](json& f) { f["model"]["vocab"][""] = 512; }, "has not 1 to"},
    {"unknown_merge",
     [](json& f) {
       f["model"]["merges"][3] = {"a", "zq"};
     },
     "model.merges[3]: needs"},
    {"merge_without_result", [](json& f) { f["model"]["merges"][3] = "z q"; },
     "model.merges[3]: needs the token 'zq'"},
    {"merge_of_three", [](json& f) { f["model"]["merges"][0] = "a b c"; },
     "model.merges[0]: must be"},
    {"merge_of_numbers",
     [](json& f) {
       f["model"]["merges"][0] = {1, 2};
     },
     "model.merges[0]: must"},
    {"merges_are_text", [](json& f) { f["model"]["merges"] = "a b"; },
     "model.merges: must be an array"},
    {"added_id_of_other", [](json& f) { f["added_tokens"][0]["id"] = 5; },
     "added_tokens[0]: uses the id 5"},
    {"added_twice", [](json& f) { f["added_tokens"].push_back(f["added_tokens"][0]); },
     "added_tokens[4]: names '<|endoftext|>' again"},
    {"added_with_other_id", [](json& f) { f["added_tokens"][0]["content"] = "a"; },
     "added_tokens[0]: gives 'a' the id 508"},
    {"added_empty", [](json& f) { f["added_tokens"][0]["content"] = ""; },
     "added_tokens[0].content"},
    {"added_negative", [](json& f) { f["added_tokens"][0]["id"] = -3; }, "added_tokens[0].id"},
    {"added_flag", [](json& f) { f["added_tokens"][0]["lstrip"] = 1; },
     "added_tokens[0].lstrip: must be true"},
    {"added_unknown_flag", [](json& f) { f["added_tokens"][0]["magic"] = true; },
     "added_tokens[0].magic"},
    {"truncation",
     [](json& f) {
       f["truncation"] = {{"max_length", 8}};
     },
     "truncation: would change"},
    {"padding", [](json& f) { f["padding"] = json::object(); }, "padding: would change"},
    {"lower_case", [](json& f) { f["normalizer"]["type"] = "Lowercase"; },
     "normalizer: 'Lowercase'"},
    {"lower_case_inside",
     [](json& f) {
       f["normalizer"] = {{"type", "Sequence"},
                          {"normalizers", {{{"type", "NFC"}}, {{"type", "Lowercase"}}}}};
     },
     "normalizer.normalizers[1]: 'Lowercase'"},
    {"no_pre_tokenizer", [](json& f) { f["pre_tokenizer"] = nullptr; }, "pre_tokenizer: must be"},
    {"metaspace",
     [](json& f) {
       f["pre_tokenizer"] = {{"type", "Metaspace"}};
     },
     "'Metaspace' is not"},
    {"no_byte_level", [](json& f) { f["pre_tokenizer"]["pretokenizers"].erase(1); },
     "has no ByteLevel"},
    {"byte_level_first",
     [](json& f) {
       f["pre_tokenizer"]["pretokenizers"].push_back(split_stage({{"String", "x"}}));
     },
     "pretokenizers[2]: stands behind ByteLevel"},
    {"behavior", [](json& f) { f["pre_tokenizer"]["pretokenizers"][0]["behavior"] = "Fancy"; },
     "pretokenizers[0].behavior: 'Fancy'"},
    {"broken_pattern",
     [](json& f) {
       pattern_of(f) = {{"Regex", "a("}};
     },
     "pattern.Regex: the pattern does not compile"},
    {"empty_pattern",
     [](json& f) {
       pattern_of(f) = {{"String", ""}};
     },
     "pattern.String: must have"},
    {"word_pattern",
     [](json& f) {
       pattern_of(f) = {{"Regex", "\\w+"}};
     },
     "holds '\\w' at byte 0"},
    {"nested_class",
     [](json& f) {
       pattern_of(f) = {{"Regex", "[a[bc]]"}};
     },
     "a class inside a class"},
    {"intersection",
     [](json& f) {
       pattern_of(f) = {{"Regex", "[a-z&&b]"}};
     },
     "a class inside a class"},
    {"counted_plus",
     [](json& f) {
       pattern_of(f) = {{"Regex", "a{1,3}+"}};
     },
     "'+' after a counted"},
    {"flag",
     [](json& f) {
       pattern_of(f) = {{"Regex", "(?m)a"}};
     },
     "the flag 'm'"},
    {"bert",
     [](json& f) {
       f["post_processor"] = {{"type", "BertProcessing"}};
     },
     "post_processor: 'BertProcessing'"},
    {"no_decoder", [](json& f) { f["decoder"] = nullptr; }, "decoder: must be"},
    {"twins",
     [](json& f) {
       f["added_tokens"].push_back({{"id", 512}, {"content", "\u1EEF"}, {"normalized", true}});
       f["added_tokens"].push_back(
           {{"id", 513}, {"content", "u\u031B\u0303"}, {"normalized", true}});
     },
     "added_tokens[5]: is the same as another added token once"},
    {"normalizer_with_more", [](json& f) { f["normalizer"]["lowercase"] = true; },
     "normalizer.lowercase: is a field"},
    {"two_decoders",
     [](json& f) {
       f["decoder"] = {{"type", "Sequence"}, {"decoders", {f["decoder"], f["decoder"]}}};
     },
     "decoder.decoders: has 2 entries"},
    {"other_inner_decoder",
     [](json& f) {
       f["decoder"] = {{"type", "Sequence"}, {"decoders", {{{"type", "Fuse"}}}}};
     },
     "decoder.decoders[0]: 'Fuse'"},
    {"other_decoder",
     [](json& f) {
       f["decoder"] = {{"type", "Metaspace"}};
     },
     "decoder: 'Metaspace'"},
};
INSTANTIATE_TEST_SUITE_P(Cases, BadFile, testing::ValuesIn(cases),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(TokenizerFile, may_be_missing_truncated_or_something_else) {
  const auto file_message = [](const std::string& path) {
    return message_of([&] { static_cast<void>(Tokenizer::from_file(path)); });
  };
  EXPECT_NE(file_message("/nowhere/tokenizer.json").find("/nowhere/tokenizer.json: no such file"),
            std::string::npos);
  EXPECT_NE(file_message(PHYSARUM_INPUTS).find("no such file"), std::string::npos);
  EXPECT_NE(load_message("").find("not JSON"), std::string::npos);
  EXPECT_NE(load_message(good_text.substr(0, good_text.size() / 2)).find("not JSON"),
            std::string::npos);
  EXPECT_NE(load_message("\x89HDF\r\n\x1a\n").find("not JSON"), std::string::npos);
  EXPECT_NE(load_message("[]").find("must be a JSON object"), std::string::npos);
  EXPECT_NE(load_message("{\"\xff\": 1}").find("not JSON"), std::string::npos);
  EXPECT_NE(load_message("{\"a\": \"\\ud800\"}").find("not JSON"), std::string::npos);
  EXPECT_NE(load_message("{\"model\": 1, \"model\": 2}").find("'model' stands twice"),
            std::string::npos);
}

TEST(TokenizerFile, names_the_end_begin_and_padding_tokens) {
  const auto tokenizer = Tokenizer::from_json(
      good_text, R"({"eos_token": {"content": "<|im_end|>"}, "pad_token": null, "bos_token": "a"})",
      "t");
  EXPECT_EQ(tokenizer.eos(), tokenizer.token_id("<|im_end|>"));
  EXPECT_EQ(tokenizer.bos(), tokenizer.token_id("a"));
  EXPECT_FALSE(tokenizer.pad());
  EXPECT_FALSE(tokenizer.unk());
  EXPECT_NE(load_message(good_text, R"({"eos_token": "<eos>"})").find("eos_token: names '<eos>'"),
            std::string::npos);
  EXPECT_NE(load_message(good_text, R"({"eos_token": 5})").find("eos_token: must be a text"),
            std::string::npos);
  EXPECT_NE(load_message(good_text, "{").find("tokenizer_config.json"), std::string::npos);
}

TEST(TokenizerFile, leaves_out_bytes_that_have_no_token) {
  json file = json::parse(good_text);
  remove_percent(file);
  const auto encode = [&](const json& changed) {
    return Tokenizer::from_json(changed.dump(), "", "t").encode("a%%b%", SpecialTokens::parse);
  };
  const int a = file["model"]["vocab"]["a"];
  const int b = file["model"]["vocab"]["b"];
  const int unknown = file["model"]["vocab"]["?"];
  EXPECT_EQ(encode(file), (std::vector{a, b}));
  file["model"]["unk_token"] = "?";
  EXPECT_EQ(encode(file), (std::vector{a, unknown, unknown, b, unknown}));
  file["model"]["fuse_unk"] = true;
  EXPECT_EQ(encode(file), (std::vector{a, unknown, b, unknown}));
}

TEST(TokenizerFile, takes_added_tokens_from_both_files) {
  const std::string config = R"({"added_tokens_decoder": {
    "512": {"content": "<new>", "special": true},
    "511": {"content": "<|pad|>", "lstrip": true, "special": false}}})";
  const auto tokenizer = Tokenizer::from_json(good_text, config, "t");
  EXPECT_EQ(tokenizer.vocab_size(), 513);
  EXPECT_TRUE(tokenizer.is_special(512));
  EXPECT_FALSE(tokenizer.is_special(511));
  EXPECT_EQ(tokenizer.encode("  <|pad|><new>", SpecialTokens::parse), (std::vector{511, 512}));
}

TEST(TokenizerFile, refuses_added_tokens_on_which_its_files_do_not_agree) {
  const auto message = [](const std::string& tokens) {
    return load_message(good_text, R"({"added_tokens_decoder": )" + tokens + "}");
  };
  const auto expect = [&](const std::string& tokens, const std::string& part) {
    EXPECT_NE(message(tokens).find(part), std::string::npos) << message(tokens);
  };
  const std::string place = "t.json (tokenizer_config.json): added_tokens_decoder";
  expect(R"({"510": {"content": "<|pad|>"}})", "another id than t.json: added_tokens[3] does");
  expect(R"({"5": {"content": "<new>"}})", place + ".5: uses the id 5 of");
  expect(R"({"600": {"content": "<new>"}})", "has no token with id 512");
  expect(R"({"x": {"content": "<new>"}})", place + ".x: stands under a key that is no id");
  expect(R"({"5x": {"content": "<new>"}})", "stands under a key that is no id");
  expect(R"({"-1": {"content": "<new>"}})", "must be from 0 to");
  expect(R"({"99999999999999999999": {"content": "<new>"}})", "stands under a key that is no id");
  expect(R"({"512": {"content": ""}})", "added_tokens_decoder.512.content: must have 1 to");
  expect(R"({"512": {"content": "<new>", "magic": 1}})", "512.magic: is a field");
  expect("[]", "must be a JSON object");
}

struct LimitCase {
  const char* name;
  std::size_t TokenizerLimits::*limit;
  std::size_t used;  ///< by the built-in tokenizer
};
class Limit : public testing::TestWithParam<LimitCase> {};

TEST_P(Limit, holds_at_the_last_allowed_value_and_not_beyond) {
  TokenizerLimits limits;
  limits.*GetParam().limit = GetParam().used + 1;
  EXPECT_EQ(load_message(good_text, "", limits), "no error");
  limits.*GetParam().limit = GetParam().used;
  EXPECT_EQ(load_message(good_text, "", limits), "no error");
  limits.*GetParam().limit = GetParam().used - 1;
  EXPECT_NE(load_message(good_text, "", limits), "no error");
}

INSTANTIATE_TEST_SUITE_P(
    Limits, Limit,
    testing::Values(LimitCase{"file_bytes", &TokenizerLimits::file_bytes, good_text.size()},
                    LimitCase{"json_depth", &TokenizerLimits::json_depth, 5},
                    LimitCase{"tokens", &TokenizerLimits::tokens, 512},
                    LimitCase{"merges", &TokenizerLimits::merges, 252},
                    LimitCase{"added_tokens", &TokenizerLimits::added_tokens, 4},
                    LimitCase{"token_bytes", &TokenizerLimits::token_bytes, 13},
                    LimitCase{"pattern_bytes", &TokenizerLimits::pattern_bytes, 110},
                    LimitCase{"stages", &TokenizerLimits::stages, 2}),
    [](const auto& instance) { return std::string(instance.param.name); });

// Bytes changed at random give a tokenizer or a complaint, nothing else.
TEST(TokenizerFile, survives_changed_bytes) {
  const base::RandomStream stream(11, base::StreamKind::test);
  int loaded = 0;
  for (std::uint64_t round = 0; round < 300; ++round) {
    std::string text = good_text;
    const auto changes = 1 + stream.below(4, round, 0);
    for (std::uint32_t i = 0; i < changes; ++i) {
      text[stream.below(text.size(), round, 2 * i + 1)] =
          static_cast<char>(stream.below(128, round, 2 * i + 2));
    }
    if (load_message(text) != "no error") continue;
    ++loaded;
    const auto tokenizer = Tokenizer::from_json(text, "", "t.json");
    static_cast<void>(tokenizer.decode(tokenizer.encode("What is 3 + 4?", SpecialTokens::parse)));
  }
  EXPECT_GT(loaded, 0);
  EXPECT_LT(loaded, 300);
}

}  // namespace
}  // namespace physarum::text
