#include "splitter.hpp"

#include <algorithm>

#include "physarum/text/utf8.hpp"

namespace physarum::text {

namespace {

/// Puts pieces together from the parts of one text, which come in order and without gaps.
class Collector {
 public:
  Collector(SplitBehavior behavior, std::vector<std::string_view>& out)
      : behavior_(behavior), out_(out) {}

  void add(std::string_view part, bool is_match) {
    if (behavior_ == SplitBehavior::removed && is_match) return;
    if (joins_previous(is_match)) {
      std::string_view& last = out_.back();
      last = std::string_view(last.data(), last.size() + part.size());
    } else {
      out_.push_back(part);
    }
    have_previous_ = true;
    previous_match_ = is_match;
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
  bool have_previous_ = false;
  bool previous_match_ = false;
};

std::size_t character_length(std::string_view text, std::size_t at) {
  return at < text.size() ? first_character(text.substr(at)).length : 1;
}

void apply(const SplitStage& stage, std::string_view text, SplitScratch& scratch) {
  Collector collector(stage.behavior, scratch.next);
  const auto add = [&](std::size_t begin, std::size_t end, bool is_match) {
    if (begin < end) collector.add(text.substr(begin, end - begin), is_match != stage.invert);
  };
  std::size_t done = 0;
  std::size_t from = 0;
  while (from <= text.size()) {
    const auto match = stage.pattern.find(text, from, scratch.regex);
    if (!match) break;
    add(done, match->begin, false);
    add(match->begin, match->end, true);
    done = match->end;
    // An empty match moves the search on, not the cut.
    from = match->end > match->begin ? done : done + character_length(text, done);
  }
  add(done, text.size(), false);
}

void apply(const SpaceStage&, std::string_view text, SplitScratch& scratch) {
  if (!text.starts_with(' ')) text = scratch.owned.emplace_back(" " + std::string(text));
  scratch.next.push_back(text);
}

}  // namespace

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
