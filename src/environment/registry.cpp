#include "physarum/environment/registry.hpp"

#include <algorithm>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"

#include "physarum/environment/label_environment.hpp"

namespace physarum::environment {

namespace {

std::string mend_for(std::string_view name, const std::vector<std::string>& known) {
  if (const auto nearest = base::nearest_word(name, known))
    return "did you mean '" + *nearest + "'?";
  std::string list = "known:";
  for (const std::string& each : known) list += " " + each;
  return list;
}

}  // namespace

void EnvironmentRegistry::add(std::unique_ptr<Environment> environment) {
  const auto known = names();
  base::expects(std::find(known.begin(), known.end(), environment->name()) == known.end(),
                "each environment has a name of its own");
  environments_.push_back(std::move(environment));
}

const Environment& EnvironmentRegistry::find(std::string_view name) const {
  if (name.empty()) name = fallback_;
  for (const auto& environment : environments_) {
    if (environment->name() == name) return *environment;
  }
  throw base::UserError("there is no environment '" + std::string(name) + "'", "environment",
                        mend_for(name, names()));
}

Verdict EnvironmentRegistry::verify(const sample::Prompt& prompt, std::string_view response) const {
  return find(prompt.environment).verify(prompt, response);
}

std::vector<std::string> EnvironmentRegistry::names() const {
  std::vector<std::string> all;
  for (const auto& environment : environments_) all.emplace_back(environment->name());
  return all;
}

EnvironmentRegistry make_environments(const EnvironmentOptions& options, std::uint64_t seed) {
  options.validate();
  EnvironmentRegistry registry(options.environment);
  registry.add(std::make_unique<ArithmeticEnvironment>(
      ArithmeticEnvironment::Settings{options.level, options.held_out, options.style, seed}));
  registry.add(std::make_unique<LabelEnvironment>(LabelRule::exact_match));
  registry.add(std::make_unique<LabelEnvironment>(LabelRule::last_number));
  return registry;
}

}  // namespace physarum::environment
