// A template from a stranger, rendered with a conversation that has something of everything. Either
// it renders or it is refused; tight limits keep each input short.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "physarum/base/error.hpp"

#include "physarum/text/chat_template.hpp"

namespace {

namespace text = physarum::text;

text::TemplateLimits tight_limits() {
  text::TemplateLimits limits;
  limits.template_bytes = std::size_t{1} << 16;
  limits.steps = 100000;
  limits.value_bytes = std::size_t{4} << 20;
  limits.output_bytes = std::size_t{1} << 16;
  return limits;
}

const text::Conversation& conversation() {
  static const text::Conversation made = [] {
    text::Conversation all;
    all.messages = nlohmann::ordered_json::parse(R"([
      {"role": "system", "content": "Be <|im_end|> brief."},
      {"role": "user", "content": [{"type": "text", "text": "Grüße 世界 \u0000 ß"}, {"type": "image"}]},
      {"role": "assistant", "content": "<think>x</think>", "tool_calls": [{"id": "1", "type": "function",
       "function": {"name": "f", "arguments": {"a": [1, -2.5, null, true, {"b": "c"}]}}}]},
      {"role": "tool", "content": {"t": 1e300}, "tool_call_id": "1"},
      {"role": "assistant", "content": "done", "reasoning": "why"},
      {"role": "user", "content": ""}])");
    all.tools = nlohmann::ordered_json::parse(R"([{"type": "function", "function": {"name": "f",
      "description": "does", "parameters": {"type": "object", "properties": {"a": {"type": "array"}}}}}])");
    all.arguments = nlohmann::ordered_json::parse(R"({"n": 7, "x": 2.5, "s": " Grüße, Welt ",
      "l": [3, 1, 2], "d": {"b": 1, "a": [1, "z"], "C": null}, "e": [], "t": true})");
    return all;
  }();
  return made;
}

std::string render(const text::ChatTemplate& chat_template) {
  try {
    return chat_template.render(conversation(), text::GenerationPrompt::omit);
  } catch (const physarum::base::UserError&) {
    return {};
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  try {
    auto chat_template = text::ChatTemplate::from_text(
        source, "fuzz", {{"bos_token", "<s>"}, {"eos_token", "<|im_end|>"}}, tight_limits());
    chat_template.set_date({2025, 7, 31, 12, 0, 0});
    const std::string rendered = render(chat_template);
    if (render(chat_template) != rendered) std::abort();  // the same every time
    text::TurnOptions options;
    options.rewritten = text::RewrittenTurns::leave_out;
    // The pieces of the turns are the rendering, in order and whole.
    if (joined_text(chat_template.render_turns(conversation(), options)) != rendered) std::abort();
  } catch (const physarum::base::UserError&) {
    return 0;
  }
  return 0;
}
