#include "samples_jsonl.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"

#include "physarum/storage/commit.hpp"

#include "physarum/sample/sample_file.hpp"

namespace physarum::app {

namespace {

using nlohmann::ordered_json;

const char* status_name(sample::SampleStatus status) {
  constexpr const char* names[] = {"pending", "completed", "truncated", "aborted", "failed"};
  return names[static_cast<std::size_t>(status)];
}

/// Where the prompts of an evaluation's groups come from: its groups are those of the sets, one
/// after another.
const HeldOut& set_of(const std::vector<HeldOut>& sets, std::int64_t group_in_evaluation) {
  for (const auto& set : sets) {
    if (group_in_evaluation < set.prompts->size()) return set;
    group_in_evaluation -= set.prompts->size();
  }
  base::ensures(false, "a group of an evaluation belongs to one of its sets");
  return sets.back();
}

/// As the JSON that the text is; a foreign file may hold a text that is none.
ordered_json json_of(const std::string& text) {
  auto json = ordered_json::parse(text, nullptr, false);
  return json.is_discarded() ? ordered_json(text) : json;
}

void add_prompt(ordered_json& row, const sample::Prompt& prompt) {
  if (prompt.messages.empty()) {
    row["input"] = prompt.text;
  } else {
    row["input"] = json_of(prompt.messages);
  }
  row["label"] = prompt.label;
  if (!prompt.metadata.empty()) row["metadata"] = json_of(prompt.metadata);
}

void add_answer(ordered_json& row, const sample::Sample& sample) {
  row["response"] = sample.response;
  row["reward"] = sample.reward;
  row["status"] = status_name(sample.status);
  row["prompt_tokens"] = sample.prompt_tokens;
  row["response_tokens"] = sample.response_tokens();
  row["verifier"] = sample.evidence.verifier;
  if (!sample.evidence.verdict.empty()) row["verdict"] = json_of(sample.evidence.verdict);
}

/// Pairs of log-prob and token id, the names and their order those of SGLang.
void add_top_log_probs(ordered_json& row, const sample::Sample& sample) {
  const auto& top = sample.top_log_probs;
  if (top.empty()) return;
  const auto per_token = static_cast<std::size_t>(top.per_token(sample.response_tokens()));
  auto& drawn = row["output_token_logprobs"] = ordered_json::array();
  auto& likeliest = row["output_top_logprobs"] = ordered_json::array();
  for (std::size_t i = 0; i < sample.log_probs.size(); ++i) {
    const auto token = sample.tokens[static_cast<std::size_t>(sample.prompt_tokens) + i];
    drawn.push_back({sample.log_probs[i], token});
    auto alternatives = ordered_json::array();
    for (std::size_t k = i * per_token; k < (i + 1) * per_token; ++k) {
      if (top.ids[k] != sample::no_alternative)
        alternatives.push_back({top.log_probs[k], top.ids[k]});
    }
    likeliest.push_back(std::move(alternatives));
  }
}

/// It was complete a moment ago: what is wrong with it now is not the user's.
sample::SampleFile read_back(const std::filesystem::path& file) {
  try {
    return sample::read_samples(file);
  } catch (const base::UserError& error) {
    throw base::WorldError("reading samples back", 0, error.what());
  }
}

}  // namespace

void write_samples_jsonl(const std::filesystem::path& file, const Setup& setup) {
  const auto content = read_back(file);
  const bool evaluates = content.header.purpose == sample::Purpose::evaluate;
  const auto first = std::ranges::min_element(content.samples, {}, &sample::Sample::group);
  std::string lines;
  for (const auto& sample : content.samples) {
    ordered_json row;
    const auto* prompts = setup.prompts.get();
    if (evaluates) {
      const auto& set = set_of(setup.held_out, sample.group.value() - first->group.value());
      row["set"] = set.name;
      prompts = set.prompts.get();
    }
    row["prompt"] = sample.prompt.value();
    row["index"] = sample.index_in_group;
    add_prompt(row, prompts->at(sample.prompt.value()));
    add_answer(row, sample);
    add_top_log_probs(row, sample);
    // Bytes of an answer that are no UTF-8 are shown as such characters.
    lines += row.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
  }
  auto path = file;
  storage::commit_text(storage::real_file_system(), path.replace_extension(".jsonl"), lines);
}

}  // namespace physarum::app
