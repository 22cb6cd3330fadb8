#include "judge.hpp"

#include <nlohmann/json.hpp>

#include "physarum/base/deadline.hpp"
#include "physarum/base/hash.hpp"

namespace physarum::environment {

namespace {

using nlohmann::ordered_json;

/// Counts up when a rule judges anything differently.
constexpr std::int64_t version = 1;

/// ASCII's white space: what files and models put around an answer.
std::string_view trim(std::string_view text) {
  constexpr std::string_view space = " \t\r\n\v\f";
  const auto begin = text.find_first_not_of(space);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(space) - begin + 1);
}

Verdict make_verdict(const char* verifier, bool correct, const ordered_json& signals,
                     std::string_view label, std::string_view response,
                     const base::Stopwatch& watch) {
  Verdict verdict;
  verdict.reward = correct ? 1.0 : 0.0;
  verdict.evidence.verifier = verifier;
  verdict.evidence.verifier_version = version;
  verdict.evidence.input_hash = base::hash64(response, base::hash64(label));
  verdict.evidence.verdict = signals.dump();
  verdict.evidence.seconds = watch.seconds();
  return verdict;
}

/// A number as evidence; its length is the model's choice, so it is cut.
ordered_json shown(const std::optional<std::string>& number) {
  constexpr std::size_t longest = 64;
  return number ? ordered_json(number->substr(0, longest)) : ordered_json(nullptr);
}

}  // namespace

Verdict judge_fixed(std::string_view label, std::string_view response) {
  const base::Stopwatch watch;
  const bool correct = !label.empty() && response == label;
  const bool well_formed = response.size() == label.size() &&
                           response.find_first_not_of("-0123456789") == std::string_view::npos;
  return make_verdict("arithmetic_fixed", correct,
                      {{"exact_match", correct}, {"well_formed", well_formed}}, label, response,
                      watch);
}

Verdict judge_exact_match(std::string_view label, std::string_view response) {
  const base::Stopwatch watch;
  const bool has_label = !trim(label).empty();
  const bool correct = has_label && trim(response) == trim(label);
  return make_verdict("exact_match", correct, {{"exact_match", correct}, {"has_label", has_label}},
                      label, response, watch);
}

Verdict judge_last_number(std::string_view label, std::string_view response) {
  const base::Stopwatch watch;
  const auto expected = last_number(label);
  const auto found = last_number(response);
  const bool correct = expected && found && *expected == *found;
  return make_verdict(
      "last_number", correct,
      {{"last_number", correct}, {"expected", shown(expected)}, {"found", shown(found)}}, label,
      response, watch);
}

}  // namespace physarum::environment
