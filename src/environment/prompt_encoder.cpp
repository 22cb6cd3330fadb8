#include "physarum/environment/prompt_encoder.hpp"

#include <algorithm>
#include <utility>

#include "physarum/base/error.hpp"

#include "physarum/text/strict_json.hpp"

namespace physarum::environment {

namespace {

using nlohmann::ordered_json;
using text::SpecialTokens;

constexpr const char* arguments_flag = "--apply-chat-template-kwargs";

ordered_json parse_arguments(const std::string& arguments) {
  if (arguments.empty()) return ordered_json::object();
  auto parsed = text::parse_strict_ordered_json(arguments, arguments_flag);
  if (parsed.is_object()) return parsed;
  throw base::UserError("the further variables are no JSON object", arguments_flag,
                        R"(write {"enable_thinking": false}, for example)");
}

std::string place_of(const sample::Prompt& prompt) {
  return "prompt " + std::to_string(prompt.id.value());
}

ordered_json message(const char* role, const std::string& content) {
  return {{"role", role}, {"content", content}};
}

bool ends_with_answer(const ordered_json& messages) {
  return !messages.empty() && messages.back().is_object() &&
         messages.back().value("role", std::string()) == "assistant";
}

}  // namespace

void ChatOptions::validate() const {
  const bool literal = content == text::SpecialTokens::literal;
  const bool has_settings = !arguments.empty() || !date.empty() || literal;
  if (has_settings && !apply_chat_template) {
    throw base::UserError("a setting of a chat template that is not applied",
                          !arguments.empty() ? arguments_flag
                          : literal          ? "--chat-template-content"
                                             : "--chat-template-date",
                          "add --apply-chat-template");
  }
  (void)parse_arguments(arguments);
  if (!date.empty()) (void)text::ChatDate::parse(date, "--chat-template-date");
}

void declare_options(base::OptionTable& table, ChatOptions& options) {
  table.topic("data");
  table.add_switch(
      "apply-chat-template", options.apply_chat_template,
      "Put prompts to the model through its chat template; a text is a user's only message.");
  table.add("apply-chat-template-kwargs", options.arguments,
            "JSON object of further variables for the template.");
  table.add("chat-template-date", options.date,
            "What the template takes for today, YYYY-MM-DD; without it the template has no clock.");
  table.add_choice(
      "chat-template-content", options.content,
      "What the names of special tokens are inside messages, tools and arguments: parse: "
      "these tokens, as in transformers; literal: plain characters.",
      {"parse", "literal"});
}

PromptEncoder PromptEncoder::from_directory(const std::filesystem::path& directory,
                                            text::Tokenizer tokenizer, const ChatOptions& options) {
  PromptEncoder encoder(std::move(tokenizer));
  if (!options.apply_chat_template) return encoder;
  encoder.chat_.emplace(
      Chat{.form = text::ChatTemplate::from_directory(directory),
           .encoder = text::ChatEncoder(encoder.tokenizer_, options.content),
           .arguments = parse_arguments(options.arguments),
           .turns = {.special_tokens = text::special_token_texts(encoder.tokenizer_)}});
  if (!options.date.empty())
    encoder.chat_->form.set_date(text::ChatDate::parse(options.date, "--chat-template-date"));
  return encoder;
}

text::Conversation PromptEncoder::conversation_of(const sample::Prompt& prompt) const {
  text::Conversation conversation;
  if (prompt.messages.empty()) {
    conversation.messages.push_back(message("user", prompt.text));
  } else {
    conversation = text::Conversation::from_json(prompt.messages, place_of(prompt));
  }
  if (!prompt.tools.empty())
    conversation.tools = text::parse_strict_ordered_json(prompt.tools, place_of(prompt));
  conversation.arguments = chat_->arguments;
  return conversation;
}

std::vector<base::TokenId> PromptEncoder::encode(const sample::Prompt& prompt) const {
  if (chat_) {
    return chat_->encoder
        .encode(chat_->form.render_pieces(conversation_of(prompt), text::GenerationPrompt::add))
        .ids;
  }
  if (!prompt.messages.empty()) {
    throw base::UserError("the prompt is a conversation, and no chat template is applied",
                          place_of(prompt), "add --apply-chat-template");
  }
  return tokenizer_.encode(prompt.text, SpecialTokens::parse);
}

Lesson PromptEncoder::encode_lesson(const sample::Prompt& prompt, base::TokenId end) const {
  if (chat_) return encode_turns(prompt);
  Lesson lesson;
  lesson.tokens = encode(prompt);
  lesson.prompt_tokens = static_cast<std::int64_t>(lesson.tokens.size());
  const auto label = tokenizer_.encode(prompt.label, SpecialTokens::parse);
  lesson.tokens.insert(lesson.tokens.end(), label.begin(), label.end());
  lesson.tokens.push_back(end);
  lesson.mask.assign(label.size() + 1, 1);
  return lesson;
}

Lesson PromptEncoder::encode_turns(const sample::Prompt& prompt) const {
  auto conversation = conversation_of(prompt);
  if (!ends_with_answer(conversation.messages) && !prompt.label.empty())
    conversation.messages.push_back(message("assistant", prompt.label));
  auto chat = chat_->encoder.encode(chat_->form.render_turns(conversation, chat_->turns));
  const auto first = std::find(chat.is_assistant.begin(), chat.is_assistant.end(), true);
  // The first token of all has nothing before it that could predict it.
  const auto prompt_tokens = std::max<std::ptrdiff_t>(first - chat.is_assistant.begin(), 1);
  Lesson lesson;
  lesson.mask.assign(chat.is_assistant.begin() +
                         std::min<std::ptrdiff_t>(prompt_tokens, std::ssize(chat.is_assistant)),
                     chat.is_assistant.end());
  if (std::find(lesson.mask.begin(), lesson.mask.end(), 1) == lesson.mask.end()) {
    throw base::UserError("the conversation has no turn of the assistant to learn",
                          place_of(prompt), "add one, or give the answer as the label");
  }
  lesson.tokens = std::move(chat.ids);
  lesson.prompt_tokens = prompt_tokens;
  return lesson;
}

}  // namespace physarum::environment
