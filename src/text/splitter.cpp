#include "splitter.hpp"

#include <algorithm>

#include "physarum/text/utf8.hpp"

namespace physarum::text {

namespace {

/// Puts pieces together from the parts of one text, which come in order and without gaps. An empty
/// match makes no piece, but it parts what stands around it.
class Collector {
 public:
  Collector(SplitBehavior behavior, std::vector<std::string_view>& out)
      : behavior_(behavior), out_(out) {}

  void add(std::string_view part, bool is_match) {
    if (behavior_ == SplitBehavior::removed && is_match) return;
    if (joins_previous(is_match)) {
      last_ = std::string_view(last_.data(), last_.size() + part.size());
    } else {
      finish();
      last_ = part;
    }
    have_previous_ = true;
    previous_match_ = is_match;
  }

  void finish() {
    if (!last_.empty()) out_.push_back(last_);
    last_ = {};
  }

 private:
  [[nodiscard]] bool joins_previous(bool is_match) const {
    if (!have_previous_) return false;
    switch (behavior_) {
      case SplitBehavior::merged_with_previous:
        return is_match && !previous_match_;
      case SplitBehavior::merged_with_next:
        return previous_match_ && !is_match;
      case SplitBehavior::contiguous:
        return is_match == previous_match_;
      default:
        return false;
    }
  }

  SplitBehavior behavior_;
  std::vector<std::string_view>& out_;
  std::string_view last_;  ///< may still grow
  bool have_previous_ = false;
  bool previous_match_ = false;
};

std::size_t character_length(std::string_view text, std::size_t at) {
  return at < text.size() ? first_character(text.substr(at)).length : 1;
}

std::optional<Match> find(const SplitStage& stage, std::string_view text, std::size_t from,
                          SplitScratch& scratch) {
  if (const auto* known = std::get_if<WordPattern>(&stage.pattern)) {
    return find_word(*known, text, from);
  }
  return std::get<Regex>(stage.pattern).find(text, from, scratch.regex);
}

void apply(const SplitStage& stage, std::string_view text, SplitScratch& scratch) {
  Collector collector(stage.behavior, scratch.next);
  std::size_t done = 0;
  std::size_t from = 0;
  std::optional<std::size_t> previous_end;
  while (from <= text.size()) {
    const auto match = find(stage, text, from, scratch);
    if (!match) break;
    const bool is_empty = match->begin == match->end;
    // An empty match right behind another match does not count, it only moves the search on.
    if (!is_empty || previous_end != match->end) {
      if (done < match->begin) collector.add(text.substr(done, match->begin - done), stage.invert);
      collector.add(text.substr(match->begin, match->end - match->begin), !stage.invert);
      done = match->end;
      previous_end = done;
    }
    from = is_empty ? match->end + character_length(text, match->end) : done;
  }
  if (done < text.size()) collector.add(text.substr(done), stage.invert);
  collector.finish();
}

void apply(const SpaceStage&, std::string_view text, SplitScratch& scratch) {
  if (!text.starts_with(' ')) text = scratch.owned.emplace_back(" " + std::string(text));
  scratch.next.push_back(text);
}

}  // namespace

std::variant<Regex, WordPattern> make_pattern(std::string_view pattern, std::string_view where) {
  if (const auto known = known_pattern(pattern)) return *known;
  return Regex(pattern, where);
}

const std::vector<std::string_view>& split(const std::vector<Stage>& stages, std::string_view text,
                                           SplitScratch& scratch) {
  scratch.owned.clear();
  scratch.pieces.clear();
  if (!text.empty()) scratch.pieces.push_back(text);
  for (const Stage& stage : stages) {
    scratch.next.clear();
    for (const std::string_view piece : scratch.pieces) {
      std::visit([&](const auto& known) { apply(known, piece, scratch); }, stage);
    }
    std::swap(scratch.pieces, scratch.next);
  }
  return scratch.pieces;
}

}  // namespace physarum::text
