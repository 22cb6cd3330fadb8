#include "physarum/environment/arithmetic.hpp"

#include <algorithm>
#include <array>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"
#include "physarum/base/philox.hpp"

#include "judge.hpp"
#include "problem.hpp"

namespace physarum::environment {

namespace {

constexpr std::array<std::string_view, 5> mixed_parts = {"add1", "add2", "sub1", "sub2", "mul1"};

void add_part(std::string_view name, std::int64_t held_out, std::vector<ProblemPart>& parts) {
  const auto kind = ProblemPart::parse(name);
  base::expects(kind.has_value(), "the level was checked");
  parts.emplace_back(kind->op, kind->digits, held_out);
}

std::vector<ProblemPart> make_parts(const std::string& level, std::int64_t held_out) {
  check_arithmetic_level(level);
  std::vector<ProblemPart> parts;
  if (level == "mixed") {
    for (const std::string_view name : mixed_parts) add_part(name, held_out, parts);
  } else {
    add_part(level, held_out, parts);
  }
  return parts;
}

/// One problem of each part in turn, so that every beginning of the list holds all parts.
std::vector<ArithmeticEnvironment::Choice> interleave(const std::vector<ProblemPart>& parts) {
  std::size_t longest = 0;
  for (const ProblemPart& part : parts) longest = std::max(longest, part.held_out().size());
  std::vector<ArithmeticEnvironment::Choice> order;
  for (std::size_t turn = 0; turn < longest; ++turn) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto& list = parts[i].held_out();
      if (turn < list.size()) order.push_back({i, list[turn]});
    }
  }
  return order;
}

}  // namespace

void check_arithmetic_level(std::string_view level) {
  if (level == "mixed" || ProblemPart::parse(level)) return;
  throw base::UserError("there is no level '" + std::string(level) + "'", "--env-level",
                        "levels: " + arithmetic_levels());
}

std::string arithmetic_levels() { return "add1 to add9, sub1 to sub9, mul1 to mul9, mixed"; }

ArithmeticEnvironment::ArithmeticEnvironment(Settings settings)
    : settings_(std::move(settings)),
      parts_(make_parts(settings_.level, settings_.held_out)),
      held_out_(interleave(parts_)) {}

ArithmeticEnvironment::~ArithmeticEnvironment() = default;

Verdict ArithmeticEnvironment::verify(const sample::Prompt& prompt,
                                      std::string_view response) const {
  return settings_.style == ArithmeticStyle::fixed ? judge_fixed(prompt.label, response)
                                                   : judge_last_number(prompt.label, response);
}

std::unique_ptr<sample::PromptSource> ArithmeticEnvironment::prompts(Split split) const {
  return std::make_unique<ArithmeticSource>(*this, split);
}

sample::Prompt ArithmeticEnvironment::make(std::int64_t index) const {
  base::expects(index >= 0, "training problems are numbered from 0");
  const base::RandomStream stream(settings_.seed, base::StreamKind::environment);
  const auto item = static_cast<std::uint64_t>(index);
  const std::size_t part = stream.below(parts_.size(), item, 0);
  // At most half of the problems are held out, so a draw fails with probability 1/2 at most.
  constexpr std::uint32_t draws = 512;
  for (std::uint32_t draw = 1; draw <= draws; ++draw) {
    const std::uint64_t problem = stream.below(parts_[part].count(), item, draw);
    if (!parts_[part].is_held_out(problem)) return prompt_of({part, problem}, index);
  }
  base::contract_failed("ensures", "some draw is no held-out problem",
                        base::SourceLocation::current());
}

sample::Prompt ArithmeticEnvironment::held_out(std::int64_t index) const {
  base::expects(index >= 0 && index < held_out_count(), "there is such a held-out problem");
  return prompt_of(held_out_[static_cast<std::size_t>(index)], index);
}

std::int64_t ArithmeticEnvironment::held_out_count() const {
  return static_cast<std::int64_t>(held_out_.size());
}

sample::Prompt ArithmeticEnvironment::prompt_of(Choice choice, std::int64_t index) const {
  const ProblemPart& part = parts_[choice.part];
  const bool fixed = settings_.style == ArithmeticStyle::fixed;
  sample::Prompt prompt;
  prompt.id = base::PromptId(index);
  prompt.text = fixed ? part.fixed_text(choice.problem) : part.words_text(choice.problem);
  prompt.label = fixed ? part.fixed_answer(choice.problem) : part.words_answer(choice.problem);
  prompt.metadata =
      R"({"level":")" + part.name() + R"(","problem":)" + std::to_string(choice.problem) + "}";
  prompt.environment = name();
  return prompt;
}

std::int64_t ArithmeticSource::size() const {
  return split_ == Split::held_out ? environment_.held_out_count() : std::int64_t{1} << 40;
}

sample::Prompt ArithmeticSource::at(std::int64_t index) const {
  return split_ == Split::held_out ? environment_.held_out(index) : environment_.make(index);
}

}  // namespace physarum::environment
