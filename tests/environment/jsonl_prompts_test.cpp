#include "physarum/environment/jsonl_prompts.hpp"

#include <sstream>

#include <gtest/gtest.h>

#include "physarum/base/error.hpp"

namespace physarum::environment {
namespace {

const JsonlKeys keys{.input = "q", .label = "a", .tools = "t"};

std::vector<sample::Prompt> read(const std::string& text, const JsonlLimits& limits = {}) {
  std::istringstream stream(text);
  return read_jsonl_prompts(stream, "p.jsonl", keys, "exact_match", limits);
}

std::string message(const std::string& text, const JsonlLimits& limits = {}) {
  try {
    static_cast<void>(read(text, limits));
  } catch (const base::UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(JsonlPrompts, reads_all_fields) {
  const auto prompts = read(
      R"({"q": "1+1?", "a": "2", "metadata": {"level": 3, "rm_type": "last_number"}, "other": [1]})"
      "\n"
      R"({"q": "Grüße\n", "a": 7})"
      "\n");
  ASSERT_EQ(prompts.size(), 2U);
  EXPECT_EQ(prompts[0].text, "1+1?");
  EXPECT_EQ(prompts[0].label, "2");
  EXPECT_EQ(prompts[0].metadata, R"({"level":3,"rm_type":"last_number"})");
  EXPECT_EQ(prompts[0].environment, "last_number");
  EXPECT_EQ(prompts[0].id.value(), 0);
  EXPECT_EQ(prompts[1].text, "Grüße\n");
  EXPECT_EQ(prompts[1].label, "7");
  EXPECT_EQ(prompts[1].metadata, "{}");
  EXPECT_EQ(prompts[1].environment, "exact_match");
  EXPECT_EQ(prompts[1].id.value(), 1);
}

TEST(JsonlPrompts, reads_conversations_with_their_keys_in_order) {
  const std::string messages =
      R"([{"role":"system","content":"Be brief."},{"role":"user","content":"1+1?","a":[1.5,null]}])";
  const std::string tools = R"([{"type":"function","function":{"name":"add","a":{}}}])";
  const auto prompts = read(R"({"q": )" + messages + R"(, "a": "2", "t": )" + tools + "}\n" +
                            R"({"q": [{"role": "user"}], "a": "", "t": []})");
  ASSERT_EQ(prompts.size(), 2U);
  EXPECT_EQ(prompts[0].text, "");
  EXPECT_EQ(prompts[0].messages, messages);
  EXPECT_EQ(prompts[0].tools, tools);
  EXPECT_EQ(prompts[1].tools, "");
}

TEST(JsonlPrompts, needs_no_labels_if_none_are_named) {
  std::istringstream stream(R"({"q": "x"})");
  const auto prompts = read_jsonl_prompts(stream, "p", {.input = "q", .label = ""}, "exact_match");
  EXPECT_EQ(prompts.at(0).label, "");
}

TEST(JsonlPrompts, an_empty_text_is_refused_unless_it_is_to_be_kept) {
  const std::string rows = R"({"q": "", "a": "1"})"
                           "\n"
                           R"({"q": "x", "a": "2"})";
  EXPECT_NE(message(rows).find("p.jsonl:1"), std::string::npos);
  const auto prompts = read(rows, {.empty_texts = EmptyTexts::keep});
  ASSERT_EQ(prompts.size(), 2U);
  EXPECT_EQ(prompts[0].text, "");
  EXPECT_EQ(prompts[0].label, "1");
  EXPECT_NE(message(R"({"q": 3, "a": ""})", {.empty_texts = EmptyTexts::keep}).find("is no text"),
            std::string::npos);
}

TEST(JsonlPrompts, accepts_windows_lines_a_mark_blank_lines_and_no_last_line_end) {
  const std::string row = R"({"q": "x", "a": ""})";
  EXPECT_EQ(read("\xEF\xBB\xBF" + row + "\r\n\r\n  \n" + row).size(), 2U);
}

TEST(JsonlPrompts, names_file_and_line_of_what_is_wrong) {
  const std::string good = R"({"q": "x", "a": "y"})"
                           "\n";
  const std::pair<const char*, const char*> cases[] = {
      {R"({"q": "x", "a": )", "not JSON"},
      {R"(["q"])", "is no JSON object"},
      {R"({"question": "x", "a": ""})", "no field 'q' (there are: question a)"},
      {R"({"q": "x"})", "no field 'a'"},
      {R"({"q": [], "a": ""})", "is no list of messages"},
      {R"({"q": ["x"], "a": ""})", "is no list of messages"},
      {R"({"q": [{"content": "x"}], "a": ""})", "is no list of messages"},
      {R"({"q": [{"role": "user"}], "a": "", "t": {}})", "'t' is no list of tools"},
      {R"({"q": [{"role": "user"}], "a": "", "t": ["add"]})", "'t' is no list of tools"},
      {R"({"q": "x", "a": "", "t": [{"name": "add"}]})", "has tools but is no list of messages"},
      {R"({"q": 5, "a": ""})", "is no text"},
      {R"({"q": "", "a": ""})", "is no text or an empty one"},
      {R"({"q": "x\u0000y", "a": ""})", "'q' holds a NUL"},
      {R"({"q": "x", "a": "\u0000"})", "'a' holds a NUL"},
      {R"({"q": "x", "a": null})", "'a' is neither text nor number"},
      {R"({"q": "x", "a": "", "metadata": []})", "'metadata' is no JSON object"},
      {R"({"q": "x", "a": "", "metadata": {"rm_type": 1}})", "rm_type"},
      {R"({"q": "x", "q": "y", "a": ""})", "'q' stands twice"},
      {R"({"q": "x", "a": 1e999})", "not JSON"},
      {"{\"q\": \"\xff\", \"a\": \"\"}", "not JSON"},
      {R"({"q": "x", "a": ""} {"q": "x", "a": ""})", "not JSON"},
  };
  for (const auto& [line, expected] : cases) {
    const std::string said = message(good + "\n" + line + "\n" + good);
    EXPECT_TRUE(said.starts_with("p.jsonl:3: ")) << said;
    EXPECT_NE(said.find(expected), std::string::npos) << said;
  }
  EXPECT_NE(message(std::string("a\0b", 3)).find("NUL byte"), std::string::npos);
  EXPECT_NE(message("").find("no prompt"), std::string::npos);
  EXPECT_NE(message("\n\n").find("no prompt"), std::string::npos);
}

TEST(JsonlPrompts, says_that_a_file_is_missing) {
  for (const char* path : {"/nowhere/p.jsonl", PHYSARUM_INPUTS}) {
    EXPECT_THROW(static_cast<void>(read_jsonl_prompts(std::filesystem::path(path), keys, "x")),
                 base::UserError);
  }
}

// Each limit at the last allowed value and one to either side.
TEST(JsonlPrompts, limits_the_length_of_a_line) {
  const std::string row = R"({"q": ")" + std::string(200000, 'x') + R"(", "a": ""})";
  for (const std::string& text : {row, row + "\n", row + "\r\n", "\xEF\xBB\xBF" + row + "\r\n"}) {
    EXPECT_EQ(message(text, {.line_bytes = row.size() + 1}), "no error");
    EXPECT_EQ(message(text, {.line_bytes = row.size()}), "no error");
    EXPECT_NE(
        message(text, {.line_bytes = row.size() - 1}).find("p.jsonl:1: the line has more than"),
        std::string::npos);
  }
}

TEST(JsonlPrompts, limits_the_whole_file) {
  std::string text;
  while (text.size() < 300000)
    text += R"({"q": "x", "a": ""})"
            "\n";
  EXPECT_EQ(message(text, {.total_bytes = text.size() + 1}), "no error");
  EXPECT_EQ(message(text, {.total_bytes = text.size()}), "no error");
  EXPECT_NE(message(text, {.total_bytes = text.size() - 1}).find("more than"), std::string::npos);
}

TEST(JsonlPrompts, limits_nesting) {
  const auto nested = [](std::size_t depth) {
    return R"({"q": "x", "a": "", "deep": )" + std::string(depth - 1, '[') +
           std::string(depth - 1, ']') + "}";
  };
  EXPECT_EQ(message(nested(63)), "no error");
  EXPECT_EQ(message(nested(64)), "no error");
  EXPECT_NE(message(nested(65)).find("nested deeper than 64"), std::string::npos);
}

}  // namespace
}  // namespace physarum::environment
