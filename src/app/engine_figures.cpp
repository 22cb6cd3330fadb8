#include "engine_figures.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace physarum::app {

namespace {
double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }
}  // namespace

EngineFigures EngineFigures::of(const base::Scalars& statistics,
                                const exchange::EngineCounters& counted) {
  return {.answers = statistics.at("rollout/answers"),
          .answering_s = statistics.at("rollout/answering_s"),
          .generated_tokens = statistics.at("rollout/generated_tokens"),
          .prompt_tokens = statistics.at("rollout/prompt_tokens_read"),
          .reused_tokens = statistics.at("rollout/prompt_tokens_reused"),
          .steps = statistics.at("rollout/engine_steps"),
          .counted = counted};
}

base::Scalars throughput(std::span<const EngineFigures> engines) {
  EngineFigures all;
  for (const auto& engine : engines) {
    all.answers += engine.answers;
    all.answering_s = std::max(all.answering_s, engine.answering_s);
    all.generated_tokens += engine.generated_tokens;
    all.prompt_tokens += engine.prompt_tokens;
    all.reused_tokens += engine.reused_tokens;
    all.steps += engine.steps;
    all.counted += engine.counted;
  }
  base::Scalars scalars = {
      {"rollout/tokens_per_s", ratio(all.generated_tokens, all.answering_s)},
      {"rollout/requests_per_s", ratio(all.answers, all.answering_s)},
      {"rollout/prefill_share", ratio(all.prompt_tokens, all.prompt_tokens + all.generated_tokens)},
      {"rollout/reused_share", ratio(all.reused_tokens, all.reused_tokens + all.prompt_tokens)},
      {"rollout/mean_batch", ratio(all.generated_tokens, all.steps)},
      {"rollout/answering_s", all.answering_s},
      {"rollout/generated_tokens", all.generated_tokens},
      {"rollout/prompt_tokens_read", all.prompt_tokens}};
  const auto add_if_any = [&](const char* name, std::int64_t count) {
    if (count > 0) scalars[name] = static_cast<double>(count);
  };
  add_if_any("rollout/preemptions", all.counted.preemptions);
  add_if_any("rollout/narrowed_nuclei", all.counted.narrowed_nuclei);
  return scalars;
}

std::string throughput_text(const base::Scalars& throughput) {
  char text[160];
  std::snprintf(
      text, sizeof text,
      "%.1f tokens/s, %.2f requests/s, prefill share %.2f, reused share %.2f, mean batch %.1f",
      throughput.at("rollout/tokens_per_s"), throughput.at("rollout/requests_per_s"),
      throughput.at("rollout/prefill_share"), throughput.at("rollout/reused_share"),
      throughput.at("rollout/mean_batch"));
  std::string line = text;
  for (const auto& [name, label] : {std::pair{"rollout/preemptions", " preemptions"},
                                    {"rollout/narrowed_nuclei", " narrowed nuclei"}}) {
    const auto found = throughput.find(name);
    if (found == throughput.end()) continue;
    std::snprintf(text, sizeof text, ", %.0f%s", found->second, label);
    line += text;
  }
  return line;
}

}  // namespace physarum::app
