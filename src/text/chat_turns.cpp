#include <algorithm>
#include <functional>
#include <string>

#include "physarum/base/error.hpp"

#include "chat_content.hpp"

namespace physarum::text {

namespace {

using jinja::Origin;
using jinja::Text;

/// Finds the assistant's turns in the rendering of a whole conversation.
///
/// Turn i begins where the rendering of the messages before it ends, generation prompt included.
/// In the rendering up to it, what follows the last character that comes from message i is the
/// template's; the turn's end is in there: behind eos_token, else behind the last special token,
/// else all of it. So two more renderings for each turn, and no guessing.
class TurnFinder {
 public:
  using Render = std::function<Text(std::size_t count, GenerationPrompt prompt)>;

  TurnFinder(const Conversation& conversation, const TurnOptions& options, std::string where,
             std::string eos, std::vector<std::string> special_tokens, Render render)
      : messages_(conversation.messages),
        options_(options),
        where_(std::move(where)),
        eos_(std::move(eos)),
        special_tokens_(std::move(special_tokens)),
        render_(std::move(render)),
        whole_(render_(messages_.size(), GenerationPrompt::omit)) {}

  ChatPieces find() {
    std::vector<ByteRange> turns;
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      const auto role = messages_[i].find("role");
      if (role == messages_[i].end() || *role != "assistant") continue;
      const auto turn = find_turn(i);
      if (!turn) continue;
      if (!turns.empty() && turns.back().end > turn->begin) {
        refuse(i, "it begins before the turn before it ends");
      }
      if (turn->begin != turn->end) turns.push_back(*turn);
    }
    return cut_pieces(whole_, turns);
  }

 private:
  [[noreturn]] void refuse(std::size_t message, const std::string& why) const {
    throw base::UserError("the assistant's turn in message " + std::to_string(message) +
                              " cannot be told from the rest of the rendering: " + why,
                          where_,
                          "mark what the assistant says with {% generation %} in the template");
  }

  Text render_up_to(std::size_t message, std::size_t count, GenerationPrompt prompt) const {
    try {
      return render_(count, prompt);
    } catch (const base::UserError& error) {
      refuse(message, std::string("the template does not render its first ") +
                          std::to_string(count) + " messages alone (" + error.what() + ")");
    }
  }

  std::optional<ByteRange> find_turn(std::size_t i) const {
    const Text before = render_up_to(i, i, GenerationPrompt::add);
    const bool is_last = i + 1 == messages_.size();
    const Text after = is_last ? whole_ : render_up_to(i, i + 1, GenerationPrompt::omit);
    const std::size_t begin = before.size();
    if (!after.bytes().starts_with(before.bytes())) {
      return rewritten(i,
                       "what it begins with is not what the template asks the model to go on from");
    }
    if (!whole_.bytes().starts_with(before.bytes())) {
      return rewritten(i, "the template prints what stands before it otherwise later on");
    }
    const std::size_t content = last_character(after, i, begin, after.size());
    const std::size_t length = end_of_turn(std::string_view(after.bytes()).substr(content));
    const auto turn = std::string_view(after.bytes()).substr(0, content + length);
    if (whole_.bytes().starts_with(turn)) return ByteRange{begin, turn.size()};
    // Something before the content may be gone; its end must be the same, and still its own.
    const std::size_t last = last_character(whole_, i, begin, begin_of_later(i, begin));
    const std::string_view ending = turn.substr(content);
    if (!std::string_view(whole_.bytes()).substr(last).starts_with(ending)) {
      return rewritten(i, "the template prints its end otherwise later on");
    }
    return ByteRange{begin, last + ending.size()};
  }

  std::optional<ByteRange> rewritten(std::size_t message, const std::string& why) const {
    if (options_.rewritten == RewrittenTurns::refuse) refuse(message, why);
    return std::nullopt;
  }

  /// Offset behind the last character between `begin` and `end` that comes from a message.
  static std::size_t last_character(const Text& text, std::size_t message, std::size_t begin,
                                    std::size_t end) {
    const Origin wanted = jinja::first_message + static_cast<Origin>(message);
    const auto runs = text.runs();
    for (std::size_t i = runs.size(); i > 0 && runs[i - 1].end > begin; --i) {
      if (runs[i - 1].origin == wanted && runs[i - 1].end <= end) return runs[i - 1].end;
    }
    return begin;
  }

  /// Offset of the first character behind `begin` that comes from a later message.
  std::size_t begin_of_later(std::size_t message, std::size_t begin) const {
    const Origin own = jinja::first_message + static_cast<Origin>(message);
    std::size_t start = 0;
    for (const jinja::Run& run : whole_.runs()) {
      if (run.end > begin && run.origin > own) return std::max(start, begin);
      start = run.end;
    }
    return whole_.size();
  }

  /// Length of what a turn needs of the text behind its content.
  std::size_t end_of_turn(std::string_view tail) const {
    const std::size_t eos = eos_.empty() ? std::string_view::npos : tail.find(eos_);
    if (eos != std::string_view::npos) return eos + eos_.size();
    std::size_t end = 0;
    for (const std::string& token : special_tokens_) {
      const std::size_t found = token.empty() ? std::string_view::npos : tail.rfind(token);
      if (found != std::string_view::npos) end = std::max(end, found + token.size());
    }
    return end == 0 ? tail.size() : end;
  }

  const nlohmann::ordered_json& messages_;
  const TurnOptions& options_;
  std::string where_;
  std::string eos_;
  std::vector<std::string> special_tokens_;
  Render render_;
  Text whole_;
};

ChatPieces marked_pieces(const Text& text) {
  std::vector<ByteRange> ranges;
  std::size_t begin = 0;
  for (const jinja::Run& run : text.runs()) {
    if (run.generated) {
      if (!ranges.empty() && ranges.back().end == begin) {
        ranges.back().end = run.end;
      } else {
        ranges.push_back({begin, run.end});
      }
    }
    begin = run.end;
  }
  return cut_pieces(text, ranges);
}

}  // namespace

ChatPieces ChatTemplate::render_turns(const Conversation& conversation,
                                      const TurnOptions& options) const {
  const jinja::Program& program = content_->choose(conversation);
  const std::size_t count = conversation.messages.size();
  if (count == 0) {
    throw base::UserError("the conversation has no messages", program.name, "give at least one");
  }
  if (program.has_generation) {
    return marked_pieces(content_->render(conversation, count, GenerationPrompt::omit, date_));
  }
  std::vector<std::string> tokens = content_->other_special_tokens;
  tokens.insert(tokens.end(), options.special_tokens.begin(), options.special_tokens.end());
  for (const auto& [name, token] : content_->special_tokens) tokens.push_back(token);
  const auto eos = content_->special_tokens.find("eos_token");
  constexpr std::size_t renderings = 16;
  std::size_t steps = renderings * content_->limits.steps;
  TurnFinder finder(conversation, options, program.name,
                    eos == content_->special_tokens.end() ? "" : eos->second, std::move(tokens),
                    [&](std::size_t messages, GenerationPrompt prompt) {
                      return content_->render(conversation, messages, prompt, date_, steps);
                    });
  return finder.find();
}

}  // namespace physarum::text
