// Against transformers' Jinja: tests/golden/make_template_golden.py made the data.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "physarum/base/error.hpp"

#include "physarum/text/chat_encoding.hpp"
#include "physarum/text/chat_template.hpp"

namespace physarum::text {
namespace {

using nlohmann::ordered_json;

const std::filesystem::path data = PHYSARUM_TEST_DATA;

const ordered_json& golden() {
  static const ordered_json document = [] {
    std::ifstream file(data / "templates.golden.json");
    return ordered_json::parse(file);
  }();
  return document;
}

TEST(TemplateGolden, templates_of_all_features_render_as_jinja_does) {
  Conversation conversation;
  conversation.messages = golden()["messages"];
  conversation.arguments = golden()["variables"];
  const auto tokens = golden()["tokens"].get<ChatTemplate::SpecialTokenMap>();
  ASSERT_GT(golden()["templates"].size(), 250U);
  for (const auto& entry : golden()["templates"]) {
    const auto source = entry["source"].get<std::string>();
    SCOPED_TRACE(entry["feature"].get<std::string>() + ": " + source);
    const auto render = [&] {
      auto chat_template = ChatTemplate::from_text(source, "golden", tokens);
      chat_template.set_date(ChatDate::parse(golden()["date"].get<std::string>(), "date"));
      return chat_template.render(conversation);
    };
    if (entry.contains("error")) {
      EXPECT_THROW((void)render(), base::UserError) << "Python: " << entry["error"];
      continue;
    }
    try {
      EXPECT_EQ(render(), entry["text"].get<std::string>());
    } catch (const base::UserError& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

TEST(TemplateGolden, generation_blocks_mark_what_transformers_marks) {
  Conversation conversation;
  conversation.messages = golden()["messages"];
  conversation.arguments = golden()["variables"];
  ASSERT_GE(golden()["generation"].size(), 9U);
  for (const auto& entry : golden()["generation"]) {
    const auto source = entry["source"].get<std::string>();
    const auto chat_template = ChatTemplate::from_text(source, "golden");
    ASSERT_TRUE(chat_template.has_generation_blocks());
    ordered_json pieces = ordered_json::array();
    for (const ChatPiece& piece : chat_template.render_turns(conversation)) {
      if (!pieces.empty() && pieces.back()[1] == piece.is_assistant) {
        pieces.back()[0] = pieces.back()[0].get<std::string>() + piece.text;
      } else {
        pieces.push_back({piece.text, piece.is_assistant});
      }
    }
    EXPECT_EQ(pieces, entry["pieces"]) << source;
  }
}

class Masks : public testing::TestWithParam<const char*> {};

TEST_P(Masks, tokens_and_loss_masks_are_those_of_transformers) {
  const auto tokenizer = Tokenizer::from_file(data / "qwen.tokenizer.json");
  const ordered_json& masks = golden()["masks"];
  const auto chat_template =
      ChatTemplate::from_text(masks[GetParam()].get<std::string>(), "golden");
  const ChatEncoder encoder(tokenizer, SpecialTokens::parse);
  TurnOptions options;
  options.special_tokens = special_token_texts(tokenizer);
  ASSERT_GE(masks["cases"].size(), 5U);
  for (const auto& entry : masks["cases"]) {
    Conversation conversation;
    conversation.messages = entry["messages"];
    const ChatTokens tokens = encoder.encode(chat_template.render_turns(conversation, options));
    EXPECT_EQ(tokens.ids, entry["ids"].get<std::vector<base::TokenId>>()) << entry["messages"];
    std::vector<bool> expected;
    for (const auto& bit : entry["mask"]) expected.push_back(bit.get<int>() != 0);
    EXPECT_EQ(tokens.is_assistant, expected) << entry["messages"];
  }
}

// The blocks of the one and the renderings of the other say the same.
INSTANTIATE_TEST_SUITE_P(Both, Masks, testing::Values("marked", "plain"));

}  // namespace
}  // namespace physarum::text
