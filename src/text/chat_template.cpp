#include "physarum/text/chat_template.hpp"

#include <algorithm>

#include "physarum/base/error.hpp"

#include "chat_content.hpp"
#include "template_interpreter.hpp"
#include "template_json.hpp"
#include "template_parser.hpp"

namespace physarum::text {

namespace {

using jinja::Value;
using nlohmann::ordered_json;

void check_form(const Conversation& conversation, const std::string& where) {
  const auto refuse = [&](std::string_view what, std::string_view mend) {
    throw base::UserError(what, where, mend);
  };
  if (!conversation.messages.is_array()) {
    refuse("the messages are no list", "give a list of {\"role\": ..., \"content\": ...}");
  }
  for (std::size_t i = 0; i < conversation.messages.size(); ++i) {
    if (!conversation.messages[i].is_object()) {
      refuse("message " + std::to_string(i) + " of the conversation is no JSON object",
             "give it as {\"role\": ..., \"content\": ...}");
    }
  }
  if (!conversation.tools.is_null() && !conversation.tools.is_array()) {
    refuse("the tools are no list", "give a list of JSON schemas, or null for none");
  }
  if (!conversation.arguments.is_object()) {
    refuse("the template's arguments are no JSON object", "give them as {\"name\": value}");
  }
  for (const char* taken : {"messages", "tools", "add_generation_prompt"}) {
    if (conversation.arguments.contains(taken)) {
      refuse("the template's argument '" + std::string(taken) + "' has a place of its own",
             "give it there");
    }
  }
}

/// Messages as `transformers` hands them to a template: fields that are null are left out, and the
/// reasoning stands under the two names that templates know it by.
ordered_json normalized(const ordered_json& message) {
  ordered_json reasoning;
  for (const char* name : {"reasoning_content", "thinking", "reasoning"}) {
    const auto found = message.find(name);
    if (reasoning.is_null() && found != message.end()) reasoning = *found;
  }
  ordered_json fields = ordered_json::object();
  if (!reasoning.is_null()) fields["thinking"] = reasoning;
  for (const auto& [name, value] : message.items()) {
    if (!value.is_null()) fields[name] = value;
  }
  if (!reasoning.is_null()) fields["reasoning_content"] = reasoning;
  return fields;
}

void expect_messages(const Conversation& conversation, const std::string& where) {
  if (!conversation.messages.empty()) return;
  throw base::UserError("the conversation has no messages", where, "give at least one");
}

}  // namespace

std::string joined_text(const ChatPieces& pieces) {
  std::string text;
  for (const ChatPiece& piece : pieces) text += piece.text;
  return text;
}

const jinja::Program& ChatTemplate::Content::choose(const Conversation& conversation) const {
  const auto tools = programs.find("tool_use");
  if (!conversation.tools.is_null() && tools != programs.end()) return tools->second;
  const auto plain = programs.find("default");
  if (plain != programs.end()) return plain->second;
  throw base::UserError("none of the chat templates is named 'default'",
                        programs.begin()->second.name, "name one of them so");
}

jinja::Text ChatTemplate::Content::render(const Conversation& conversation, std::size_t count,
                                          GenerationPrompt prompt,
                                          const std::optional<ChatDate>& date) const {
  std::size_t steps = limits.steps;
  return render(conversation, count, prompt, date, steps);
}

jinja::Text ChatTemplate::Content::render(const Conversation& conversation, std::size_t count,
                                          GenerationPrompt prompt,
                                          const std::optional<ChatDate>& date,
                                          std::size_t& steps_left) const {
  const jinja::Program& program = choose(conversation);
  check_form(conversation, program.name);
  TemplateLimits bounds = limits;
  bounds.steps = std::min(bounds.steps, steps_left);
  jinja::Interpreter interpreter(program, bounds, date);
  std::vector<Value> messages;
  for (std::size_t i = 0; i < count; ++i) {
    messages.push_back(jinja::from_json(interpreter, normalized(conversation.messages[i]),
                                        jinja::first_message + static_cast<jinja::Origin>(i)));
  }
  for (const auto& [name, token] : special_tokens) {
    interpreter.set_variable(name, interpreter.text(token));
  }
  interpreter.set_variable("documents", Value());
  for (const auto& [name, value] : conversation.arguments.items()) {
    interpreter.set_variable(name, jinja::from_json(interpreter, value, jinja::from_input));
  }
  interpreter.set_variable("messages", interpreter.list(std::move(messages)));
  interpreter.set_variable("tools",
                           jinja::from_json(interpreter, conversation.tools, jinja::from_input));
  interpreter.set_variable("add_generation_prompt", Value(prompt == GenerationPrompt::add));
  jinja::Text text = interpreter.run();
  steps_left -= interpreter.steps_taken();
  return text;
}

ChatPieces cut_pieces(const jinja::Text& text, const std::vector<ByteRange>& ranges) {
  ChatPieces pieces;
  std::size_t at = 0;
  std::size_t range = 0;
  for (const jinja::Run& run : text.runs()) {
    const Source source =
        run.origin == jinja::from_template ? Source::from_template : Source::from_data;
    while (at < run.end) {
      while (range < ranges.size() && ranges[range].end <= at) ++range;
      const bool inside = range < ranges.size() && ranges[range].begin <= at;
      std::size_t end = run.end;
      if (range < ranges.size()) {
        end = std::min(end, inside ? ranges[range].end : ranges[range].begin);
      }
      const auto part = std::string_view(text.bytes()).substr(at, end - at);
      if (!pieces.empty() && pieces.back().source == source &&
          pieces.back().is_assistant == inside) {
        pieces.back().text += part;
      } else {
        pieces.push_back({std::string(part), source, inside});
      }
      at = end;
    }
  }
  return pieces;
}

ChatTemplate ChatTemplate::from_text(std::string_view source, std::string_view where,
                                     SpecialTokenMap special_tokens, const TemplateLimits& limits) {
  auto content = std::make_shared<Content>();
  content->programs.emplace("default", jinja::parse_template(source, where, limits));
  content->special_tokens = std::move(special_tokens);
  content->limits = limits;
  return ChatTemplate(std::move(content));
}

std::string ChatTemplate::render(const Conversation& conversation, GenerationPrompt prompt) const {
  expect_messages(conversation, content_->choose(conversation).name);
  return content_->render(conversation, conversation.messages.size(), prompt, date_).bytes();
}

ChatPieces ChatTemplate::render_pieces(const Conversation& conversation,
                                       GenerationPrompt prompt) const {
  expect_messages(conversation, content_->choose(conversation).name);
  return cut_pieces(content_->render(conversation, conversation.messages.size(), prompt, date_),
                    {});
}

bool ChatTemplate::has_generation_blocks() const {
  return std::any_of(content_->programs.begin(), content_->programs.end(),
                     [](const auto& named) { return named.second.has_generation; });
}

const ChatTemplate::SpecialTokenMap& ChatTemplate::special_tokens() const {
  return content_->special_tokens;
}

}  // namespace physarum::text
