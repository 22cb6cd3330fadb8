// Renders what template_parity.py asks for, one JSON object a line:
//
//   {"template": id, "source": text, "tokens": {name: text}}            a template, for later lines
//   {"template": id, "messages": [...], "tools": ..., "arguments": {...},
//    "prompt": bool, "date": text, "want": "text" | "turns" | "tokens",
//    "tokenizer": path, "content": "parse" | "literal", "rewritten": "refuse" | "leave_out"}
//
// The answer is a line {"text": ...}, {"pieces": [[text, is_assistant], ...]}, {"ids": [...],
// "mask": [...]}, {"ok": true} or {"error": ...}.
#include <iostream>
#include <map>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "physarum/base/error.hpp"

#include "physarum/text/chat_encoding.hpp"
#include "physarum/text/chat_template.hpp"

namespace {

using nlohmann::ordered_json;
namespace text = physarum::text;

class Driver {
 public:
  ordered_json answer(const ordered_json& job) {
    try {
      if (job.contains("source")) return add_template(job);
      return render(job);
    } catch (const physarum::base::UserError& error) {
      return {{"error", error.what()}};
    }
  }

 private:
  ordered_json add_template(const ordered_json& job) {
    const auto id = job["template"].get<std::string>();
    templates_.erase(id);
    templates_.emplace(
        id, text::ChatTemplate::from_text(job["source"].get<std::string>(), id,
                                          job.value("tokens", ordered_json::object())
                                              .get<text::ChatTemplate::SpecialTokenMap>()));
    return {{"ok", true}};
  }

  ordered_json render(const ordered_json& job) {
    const auto found = templates_.find(job["template"].get<std::string>());
    if (found == templates_.end()) return {{"error", "the template was not read"}};
    text::ChatTemplate chat_template = found->second;
    if (job.contains("date")) {
      chat_template.set_date(text::ChatDate::parse(job["date"].get<std::string>(), "date"));
    }
    text::Conversation conversation;
    conversation.messages = job["messages"];
    conversation.tools = job.value("tools", ordered_json());
    conversation.arguments = job.value("arguments", ordered_json::object());
    const auto prompt =
        job.value("prompt", false) ? text::GenerationPrompt::add : text::GenerationPrompt::omit;
    const std::string want = job.value("want", "text");
    if (want == "text") return {{"text", chat_template.render(conversation, prompt)}};

    text::TurnOptions options;
    options.special_tokens = job.value("special_tokens", std::vector<std::string>());
    if (job.value("rewritten", "refuse") == "leave_out") {
      options.rewritten = text::RewrittenTurns::leave_out;
    }
    if (want == "tokens") use_tokenizer(job["tokenizer"].get<std::string>());
    if (tokenizer_ && want == "tokens") options.special_tokens = special_tokens_;
    const text::ChatPieces pieces = chat_template.render_turns(conversation, options);
    if (want == "turns") {
      ordered_json list = ordered_json::array();
      for (const auto& piece : pieces) list.push_back({piece.text, piece.is_assistant});
      return {{"pieces", list}};
    }
    const auto& encoder = job.value("content", "parse") == "literal" ? *literal_ : *parsed_;
    const text::ChatTokens tokens = encoder.encode(pieces);
    return {{"ids", tokens.ids}, {"mask", tokens.is_assistant}};
  }

  void use_tokenizer(const std::string& path) {
    if (path == tokenizer_path_) return;
    tokenizer_ = text::Tokenizer::from_file(path);
    special_tokens_ = text::special_token_texts(*tokenizer_);
    literal_.emplace(*tokenizer_, text::SpecialTokens::literal);
    parsed_.emplace(*tokenizer_, text::SpecialTokens::parse);
    tokenizer_path_ = path;
  }

  std::map<std::string, text::ChatTemplate> templates_;
  std::string tokenizer_path_;
  std::optional<text::Tokenizer> tokenizer_;
  std::vector<std::string> special_tokens_;
  std::optional<text::ChatEncoder> literal_, parsed_;
};

}  // namespace

int main() {
  Driver driver;
  std::string line;
  while (std::getline(std::cin, line)) {
    std::cout << driver.answer(ordered_json::parse(line)).dump() << std::endl;
  }
  return 0;
}
