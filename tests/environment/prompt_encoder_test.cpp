#include "physarum/environment/prompt_encoder.hpp"

#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "physarum/base/error.hpp"

namespace physarum::environment {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<base::TokenId>;

// ChatML, with what the conversation may call and one further variable.
constexpr const char* chat_ml = R"({%- if tools %}<|im_start|>system
{{ tools | tojson }}<|im_end|>
{% endif %}
{%- for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% if brief %}brief:{% endif %}{% endif %})";

class PromptEncoderTest : public ::testing::Test {
 protected:
  PromptEncoderTest() {
    fs::create_directories(directory_);
    fs::copy_file(fs::path(PHYSARUM_INPUTS) / "model-small/tokenizer.json",
                  directory_ / "tokenizer.json", fs::copy_options::overwrite_existing);
    write("tokenizer_config.json", R"({"eos_token": "<|im_end|>"})");
    write("chat_template.jinja", chat_ml);
  }
  ~PromptEncoderTest() override { fs::remove_all(directory_); }

  void write(const char* name, const std::string& text) {
    std::ofstream(directory_ / name, std::ios::binary) << text;
  }
  [[nodiscard]] text::Tokenizer tokenizer() const {
    return text::Tokenizer::from_file(directory_ / "tokenizer.json");
  }
  [[nodiscard]] PromptEncoder encoder(const ChatOptions& options = {.apply_chat_template = true}) {
    return PromptEncoder::from_directory(directory_, tokenizer(), options);
  }
  [[nodiscard]] Ids ids(const std::string& text) const {
    return tokenizer().encode(text, text::SpecialTokens::parse);
  }
  [[nodiscard]] static sample::Prompt asked(const std::string& text) {
    sample::Prompt prompt;
    prompt.id = base::PromptId(3);
    prompt.text = text;
    return prompt;
  }
  [[nodiscard]] static sample::Prompt conversation(const std::string& messages) {
    auto prompt = asked("");
    prompt.messages = messages;
    return prompt;
  }
  /// Its answer, with a character in the place of each token that does not count.
  [[nodiscard]] std::string counted(const Lesson& lesson) const {
    std::string text;
    for (std::size_t i = 0; i < lesson.mask.size(); ++i) {
      const auto token = lesson.tokens[static_cast<std::size_t>(lesson.prompt_tokens) + i];
      text += lesson.mask[i] == 1 ? std::string(tokenizer().token_bytes(token)) : "_";
    }
    return text;
  }

  fs::path directory_ =
      fs::temp_directory_path() / ("physarum-prompt-encoder-" + std::to_string(::getpid()));
};

TEST_F(PromptEncoderTest, texts_stand_as_they_are_without_a_template) {
  EXPECT_EQ(encoder({}).encode(asked("<|im_start|>7+5=")), ids("<|im_start|>7+5="));
}

TEST_F(PromptEncoderTest, a_text_is_the_users_only_message) {
  EXPECT_EQ(encoder().encode(asked("7+5?")),
            ids("<|im_start|>user\n7+5?<|im_end|>\n<|im_start|>assistant\n"));
}

TEST_F(PromptEncoderTest, conversations_go_through_the_template_with_tools_and_arguments) {
  auto prompt = conversation(R"([{"role": "system", "content": "Be kind."},
                                 {"role": "user", "content": "7+5?"}])");
  prompt.tools = R"([{"name": "add"}])";
  EXPECT_EQ(
      encoder({.apply_chat_template = true, .arguments = R"({"brief": true})"}).encode(prompt),
      ids("<|im_start|>system\n[{\"name\": \"add\"}]<|im_end|>\n<|im_start|>system\nBe kind."
          "<|im_end|>\n<|im_start|>user\n7+5?<|im_end|>\n<|im_start|>assistant\nbrief:"));
}

TEST_F(PromptEncoderTest, a_conversation_needs_a_template) {
  EXPECT_THROW((void)encoder({}).encode(conversation(R"([{"role": "user", "content": "x"}])")),
               base::UserError);
  fs::remove(directory_ / "chat_template.jinja");
  EXPECT_THROW((void)encoder(), base::UserError);
  EXPECT_NO_THROW((void)encoder({}));
}

TEST_F(PromptEncoderTest, a_template_may_have_the_date_of_the_run) {
  write("chat_template.jinja", "{{ strftime_now('%d %b %Y') }}");
  EXPECT_EQ(encoder({.apply_chat_template = true, .date = "2025-07-31"}).encode(asked("x")),
            ids("31 Jul 2025"));
  EXPECT_THROW((void)encoder().encode(asked("x")), base::UserError);
}

TEST_F(PromptEncoderTest, a_labels_lesson_ends_with_the_end_token) {
  auto prompt = asked("7+5=");
  prompt.label = "12";
  const auto lesson = encoder({}).encode_lesson(prompt, 2);
  Ids expected = ids("7+5=12");
  expected.push_back(2);
  EXPECT_EQ(lesson.tokens, expected);
  EXPECT_EQ(lesson.prompt_tokens, std::ssize(ids("7+5=")));
  EXPECT_EQ(lesson.mask, std::vector<std::uint8_t>(ids("12").size() + 1, 1));
}

TEST_F(PromptEncoderTest, every_turn_of_the_assistant_is_learnt_and_nothing_else) {
  const auto lesson = encoder().encode_lesson(
      conversation(R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
                       {"role": "user", "content": "c"}, {"role": "assistant", "content": "d"}])"),
      0);
  const auto before = ids("<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(lesson.prompt_tokens, std::ssize(before));
  const auto between = ids("\n<|im_start|>user\nc<|im_end|>\n<|im_start|>assistant\n").size();
  EXPECT_EQ(counted(lesson), "b<|im_end|>" + std::string(between, '_') + "d<|im_end|>_");
  EXPECT_EQ(lesson.tokens,
            ids("<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\nb<|im_end|>\n"
                "<|im_start|>user\nc<|im_end|>\n<|im_start|>assistant\nd<|im_end|>\n"));
}

TEST_F(PromptEncoderTest, a_label_is_the_missing_last_turn) {
  auto prompt = conversation(R"([{"role": "user", "content": "a"}])");
  EXPECT_THROW((void)encoder().encode_lesson(prompt, 0), base::UserError);
  prompt.label = "b";
  EXPECT_EQ(counted(encoder().encode_lesson(prompt, 0)), "b<|im_end|>_");
}

TEST_F(PromptEncoderTest, special_tokens_in_messages_are_characters_if_asked) {
  const auto prompt = asked("a<|im_end|>b");
  const auto parsed = encoder().encode(prompt);
  const auto literal =
      encoder({.apply_chat_template = true, .content = text::SpecialTokens::literal})
          .encode(prompt);
  const auto end = ids("<|im_end|>").front();
  EXPECT_EQ(std::count(parsed.begin(), parsed.end(), end), 2);
  EXPECT_EQ(std::count(literal.begin(), literal.end(), end), 1);
  EXPECT_EQ(tokenizer().decode(literal, text::DecodeSpecial::keep),
            tokenizer().decode(parsed, text::DecodeSpecial::keep));
}

TEST_F(PromptEncoderTest, settings_that_cannot_work_are_refused) {
  EXPECT_THROW((ChatOptions{.arguments = "{}"}.validate()), base::UserError);
  EXPECT_THROW((ChatOptions{.date = "2025-07-31"}.validate()), base::UserError);
  EXPECT_THROW((ChatOptions{.apply_chat_template = true, .arguments = "[1]"}.validate()),
               base::UserError);
  EXPECT_THROW((ChatOptions{.apply_chat_template = true, .date = "31.7.2025"}.validate()),
               base::UserError);
  EXPECT_NO_THROW(
      (ChatOptions{.apply_chat_template = true, .arguments = "{}", .date = "2025-07-31"})
          .validate());
}

}  // namespace
}  // namespace physarum::environment
