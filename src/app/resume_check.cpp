#include "resume_check.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "physarum/base/error.hpp"
#include "physarum/base/joined.hpp"

#include "checkpoint_content.hpp"
#include "resume_rules.hpp"

namespace physarum::app {

namespace {

using base::UserError;

/// The length of the run is the length of the schedule, unless that is given.
bool schedule_follows_length(const Configuration& now) {
  const auto& optimiser = now.training.optimiser;
  return optimiser.lr_decay_style != training::DecayStyle::constant && !optimiser.lr_decay_iters;
}

bool is_allowed(const std::string& key, const Configuration& now) {
  const auto& keys = now.checkpoint.allow_changed;
  return std::ranges::find(keys, key) != keys.end();
}

bool may_differ(const std::string& key, const Configuration& now) {
  switch (resume_rule(key).value_or(ResumeRule::same)) {
    case ResumeRule::free:
      return true;
    case ResumeRule::length:
      return is_allowed(key, now) || !schedule_follows_length(now);
    case ResumeRule::same:
      return is_allowed(key, now);
    case ResumeRule::fixed:
      break;
  }
  return false;
}

std::vector<std::string> model_differences(const std::string& saved, const std::string& now) {
  const auto before = nlohmann::json::parse(saved), after = nlohmann::json::parse(now);
  std::vector<std::string> differences;
  for (const auto& [key, value] : after.items()) {
    // Of no consequence once there are weights.
    if (key == "initializer_range") continue;
    const auto found = before.find(key);
    if (found == before.end() || *found != value) {
      differences.push_back(key + ": " + (found == before.end() ? "none" : found->dump()) +
                            " in the checkpoint, " + value.dump() + " now");
    }
  }
  return differences;
}

}  // namespace

std::vector<std::string> configuration_differences(const std::string& saved_toml,
                                                   const std::string& where,
                                                   const Configuration& now) {
  Configuration before, copy = now;
  base::OptionTable saved, current;
  declare_options(saved, before);
  declare_options(current, copy);
  base::read_toml_text(saved_toml, where, saved);
  std::vector<std::string> differences;
  for (const auto& option : current.options()) {
    const auto was = saved.find(option.name)->get(), is = option.get();
    if (was == is || may_differ(option.key(), now)) continue;
    const auto shown = [](const std::string& value) { return value.empty() ? "unset" : value; };
    differences.push_back(option.key() + ": " + shown(was) + " in the checkpoint, " + shown(is) +
                          " now");
  }
  return differences;
}

void require_same_run(const Setup& setup, const storage::CheckpointReader& checkpoint) {
  const auto& file = checkpoint.file();
  const std::string where = checkpoint.path().string();
  const auto model = model_differences(file.read_text("model"), setup.model.to_json());
  if (!model.empty()) {
    throw UserError("it is a checkpoint of another model (" + base::joined(model, "; ") + ")",
                    where, "give its model by --hf-checkpoint, or load another checkpoint");
  }
  Configuration any;
  base::OptionTable table;
  declare_options(table, any);
  const auto& all = table.options();
  for (const auto& key : setup.configuration.checkpoint.allow_changed) {
    const bool known = std::ranges::any_of(all, [&](const auto& o) { return o.key() == key; });
    if (known && resume_rule(key) != ResumeRule::fixed) continue;
    throw UserError(known ? "'" + key + "' cannot be changed in a run that goes on"
                          : "there is no key '" + key + "'",
                    "--allow-changed", "name keys of the configuration file, such as lr");
  }
  const auto differences = configuration_differences(file.read_text("configuration"),
                                                     where + ":configuration", setup.configuration);
  if (!differences.empty()) {
    throw UserError("this run differs from its checkpoint: " + base::joined(differences, "; "),
                    where, "give the checkpoint's values, or name the keys in --allow-changed");
  }
  if (file.string_attribute("", "prompts") != prompt_fingerprint(*setup.prompts)) {
    throw UserError("the prompts are not those of the checkpoint", where,
                    "give the same --prompt-data or environment");
  }
}

void require_fitting_groups(const Setup& setup, const buffer::BufferState& state,
                            const std::filesystem::path& path) {
  const auto& options = setup.configuration.buffer;
  const auto capacity = options.capacity_groups() + options.rollout_batch_size;
  const bool fits = static_cast<std::int64_t>(state.groups.size()) <= capacity;
  const auto is_sized = [&](const sample::SampleGroup& group) {
    return static_cast<std::int64_t>(group.samples.size()) == options.n_samples_per_prompt;
  };
  const bool sized = std::ranges::all_of(state.groups, is_sized) &&
                     std::ranges::all_of(state.unfinished, is_sized);
  if (fits && sized && state.step >= 0) return;
  throw UserError(sized ? "it holds " + std::to_string(state.groups.size()) +
                              " finished groups, more than the " + std::to_string(capacity) +
                              " that this buffer keeps"
                        : "its groups have another size",
                  path.string(),
                  "give the checkpoint's --async-data-buffer-capacity-factor and "
                  "--n-samples-per-prompt");
}

}  // namespace physarum::app
