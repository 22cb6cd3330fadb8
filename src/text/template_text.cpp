#include "template_text.hpp"

#include <algorithm>

namespace physarum::text::jinja {

void Text::add_run(std::size_t end, Origin origin, bool generated) {
  if (!runs_.empty() && runs_.back().origin == origin && runs_.back().generated == generated) {
    runs_.back().end = end;
  } else {
    runs_.push_back({end, origin, generated});
  }
}

std::size_t Text::run_at(std::size_t offset) const {
  const auto found = std::upper_bound(runs_.begin(), runs_.end(), offset,
                                      [](std::size_t at, const Run& run) { return at < run.end; });
  return static_cast<std::size_t>(found - runs_.begin());
}

void Text::append(std::string_view bytes, Origin origin) {
  if (bytes.empty()) return;
  bytes_.append(bytes);
  add_run(bytes_.size(), origin, false);
}

void Text::append(const Text& other, std::size_t begin, std::size_t end) {
  if (begin >= end) return;
  const std::size_t before = bytes_.size();
  bytes_.append(other.bytes_, begin, end - begin);
  for (std::size_t i = other.run_at(begin); i < other.runs_.size(); ++i) {
    const Run& run = other.runs_[i];
    add_run(before + std::min(run.end, end) - begin, run.origin, run.generated);
    if (run.end >= end) break;
  }
}

void Text::append_like(std::string_view bytes, const Text& other, std::size_t offset) {
  if (bytes.empty()) return;
  bytes_.append(bytes);
  const Run& run = other.runs_[other.run_at(offset)];
  add_run(bytes_.size(), run.origin, run.generated);
}

Text Text::substring(std::size_t begin, std::size_t end) const {
  Text part;
  part.append(*this, begin, end);
  part.is_markup_ = is_markup_;
  return part;
}

Origin Text::origin_at(std::size_t offset) const { return runs_[run_at(offset)].origin; }

void Text::mark_generated() {
  std::vector<Run> runs;
  runs.swap(runs_);
  for (const Run& run : runs) add_run(run.end, run.origin, true);
}

}  // namespace physarum::text::jinja
