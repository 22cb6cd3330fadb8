#include "checkpoint_content.hpp"

#include <algorithm>

#include "physarum/base/hash.hpp"

namespace physarum::app {

void write_run_facts(storage::File& file, const Setup& setup) {
  file.set_attribute("", "run_id", std::string_view(setup.run_id));
  file.set_attribute("", "run_name", std::string_view(setup.configuration.run.run_name));
  file.set_attribute("", "seed", setup.configuration.run.seed);
  file.set_attribute("", "layout", std::string_view(setup.plan.describe()));
  file.set_attribute("", "prompts", std::string_view(prompt_fingerprint(*setup.prompts)));
  file.write_text("configuration", setup.toml);
  file.write_text("model", setup.model.to_json());
}

std::string prompt_fingerprint(const sample::PromptSource& prompts) {
  constexpr std::int64_t most = 1024;
  const std::int64_t size = prompts.size();
  const std::int64_t looked = std::min(size, most);
  std::uint64_t hash = 0;
  for (std::int64_t i = 0; i < looked; ++i) {
    const auto row = static_cast<std::int64_t>(static_cast<double>(i) * static_cast<double>(size) /
                                               static_cast<double>(looked));
    const auto prompt = prompts.at(std::min(row, size - 1));
    for (const auto& text : {prompt.text, prompt.label, prompt.metadata, prompt.environment})
      hash = base::hash64(text, hash);
    // Hashed only where there are any, so that prompts without them keep their fingerprint.
    for (const auto& text : {prompt.messages, prompt.tools}) {
      if (!text.empty()) hash = base::hash64(text, hash);
    }
  }
  return std::to_string(size) + "-" + std::to_string(hash);
}

bool holds_optimiser(const storage::CheckpointReader& checkpoint) {
  return std::ranges::any_of(checkpoint.manifest().bulk, [](const auto& place) {
    return place.dataset.name.starts_with("optimizer/");
  });
}

}  // namespace physarum::app
