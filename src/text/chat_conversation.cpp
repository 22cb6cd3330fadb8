#include "physarum/base/error.hpp"

#include "physarum/text/chat_template.hpp"
#include "physarum/text/strict_json.hpp"

namespace physarum::text {

Conversation Conversation::from_json(std::string_view json, std::string_view where) {
  nlohmann::ordered_json document = parse_strict_ordered_json(json, where);
  Conversation conversation;
  if (document.is_array()) {
    conversation.messages = std::move(document);
    return conversation;
  }
  if (!document.is_object() || !document.contains("messages")) {
    throw base::UserError("this is no conversation", where,
                          "give a list of messages, or an object with 'messages'");
  }
  for (auto& [key, value] : document.items()) {
    if (key == "messages") {
      conversation.messages = std::move(value);
    } else if (key == "tools") {
      conversation.tools = std::move(value);
    } else if (key == "arguments") {
      conversation.arguments = std::move(value);
    } else {
      throw base::UserError("a conversation has no field '" + key.substr(0, 40) + "'", where,
                            "it has messages, tools and arguments");
    }
  }
  return conversation;
}

}  // namespace physarum::text
