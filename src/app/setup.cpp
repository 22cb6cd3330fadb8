#include "setup.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <span>
#include <utility>

#include "physarum/base/host.hpp"
#include "physarum/base/logging.hpp"
#include "physarum/base/memory.hpp"

#include "physarum/parallel/agree.hpp"

#include "physarum/sample/prompt_file.hpp"

#include "physarum/model/cpu_target.hpp"
#include "physarum/model/hf_directory.hpp"
#include "physarum/model/parameter_layout.hpp"

#include "physarum/environment/jsonl_prompts.hpp"

#include "engine_memory.hpp"
#include "run_directory.hpp"
#include "weight_plan.hpp"

namespace physarum::app {

namespace {

using base::UserError;

/// What prompts are for.
enum class Use { generation, lessons };

/// Tokens before the answer.
std::int64_t prompt_tokens(const sample::Prompt& prompt, const Setup& setup, Use use) {
  if (use == Use::generation) return std::ssize(setup.prompt_encoder.encode(prompt));
  return setup.prompt_encoder.encode_lesson(prompt, 0).prompt_tokens;
}

void refuse_bad_prompt(std::int64_t row, std::int64_t tokens, std::int64_t longest,
                       const std::string& path) {
  const std::string place = path.empty() ? "--env-level" : path;
  const std::string prompt = "the prompt in row " + std::to_string(row) + " has ";
  const std::string or_go_on = path.empty() ? "" : "; --bad-prompts fail goes on without it";
  if (tokens == 0) throw UserError(prompt + "no tokens", place, "write one" + or_go_on);
  if (tokens <= longest) return;
  throw UserError(
      prompt + std::to_string(tokens) + " tokens, at most " + std::to_string(longest) +
          " fit the context",
      place, "shorten it, or raise --rollout-max-context-len as far as the model can" + or_go_on);
}

/// What would only come out in the middle of a run is said before it: environments that do not
/// exist, conversations that the chat template refuses, prompts that leave no room for an answer.
/// Each rank looks at some rows.
void check_prompts(const sample::PromptSource& prompts, const std::string& path, const Setup& setup,
                   Use use, const parallel::Communicator& world) {
  const std::int64_t longest = setup.configuration.rollout.prompt_tokens(setup.model);
  const bool refuses = setup.configuration.data.bad_prompts == BadPrompts::refuse;
  // A procedure's prompts do not end, but are alike: its first ones speak for it.
  const std::int64_t rows =
      path.empty() ? std::min<std::int64_t>(prompts.size(), 64) : prompts.size();
  for (std::int64_t row = world.rank(); row < rows; row += world.size()) {
    const auto prompt = prompts.at(row);
    if (!prompt.environment.empty()) (void)setup.environments->find(prompt.environment);
    const auto tokens = prompt_tokens(prompt, setup, use);
    // A lesson may begin with what is learnt.
    if (tokens == 0 && use == Use::lessons) continue;
    if (refuses) refuse_bad_prompt(row, tokens, longest, path);
  }
}

std::unique_ptr<sample::PromptSource> open_file(const std::string& path, const DataOptions& data) {
  if (std::filesystem::path(path).extension() != ".jsonl")
    return std::make_unique<sample::FilePromptSource>(path);
  const bool keeps = data.bad_prompts == BadPrompts::fail;
  const environment::JsonlLimits limits{.empty_texts = keeps ? environment::EmptyTexts::keep
                                                             : environment::EmptyTexts::refuse};
  // Rows that name no environment are judged by the run's.
  return std::make_unique<sample::FilePromptSource>(
      environment::read_jsonl_prompts(path, data.keys, "", limits));
}

/// Null if the environment makes none. An empty path: those that it makes.
std::unique_ptr<sample::PromptSource> open_prompts(const std::string& path, const Setup& setup,
                                                   environment::Split split, Use use,
                                                   const parallel::Communicator& world) {
  auto source = path.empty() ? setup.environments->fallback().prompts(split)
                             : open_file(path, setup.configuration.data);
  if (source) check_prompts(*source, path, setup, use, world);
  return source;
}

std::vector<HeldOut> open_held_out(const Setup& setup, const parallel::Communicator& world) {
  const auto& own_name = setup.configuration.environment.environment;
  auto files = evaluation_files(setup.configuration.data, own_name);
  if (files.empty()) files.push_back({own_name, ""});
  std::vector<HeldOut> sets;
  for (const auto& file : files) {
    auto source =
        open_prompts(file.path, setup, environment::Split::held_out, Use::generation, world);
    if (source) sets.push_back({file.name, std::move(source)});
  }
  return sets;
}

void check_tokenizer(const text::Tokenizer& tokenizer, const model::ModelConfig& model,
                     const std::string& directory) {
  if (tokenizer.vocab_size() > model.vocab_size) {
    throw UserError("the tokenizer has " + std::to_string(tokenizer.vocab_size()) +
                        " tokens, the model " + std::to_string(model.vocab_size),
                    directory, "take tokenizer.json and config.json of one model");
  }
}

Setup read_all(const std::string& command, const std::vector<std::string>& arguments, Needs needs,
               const parallel::Communicator& world, int ranks) {
  const bool trains = needs == Needs::circle;
  (void)model::cpu_target();  // what it has to say about PHYSARUM_CPU comes first
  Configuration configuration = read_configuration(arguments);
  // Without training, the length of the run follows from the prompts if it is not given.
  const bool open_end =
      !trains && !configuration.buffer.num_rollout && !configuration.buffer.num_epoch;
  if (open_end) configuration.buffer.num_rollout = 1;
  configuration.validate();
  if (command != "check") refuse_split_model(configuration);
  if (open_end) configuration.buffer.num_rollout.reset();
  const auto plan =
      parallel::RankLayout::plan(ranks > 0 ? ranks : world.size(), configuration.layout,
                                 {.trainer_ranks = trains ? 1 : 0, .rollout_ranks = 1});
  if (trains) configuration.buffer.validate_for(static_cast<int>(plan.trainer_ranks().size()));
  const std::filesystem::path directory = configuration.run.hf_checkpoint;
  auto model = model::read_hf_config(directory);
  configuration.rollout.validate(model);
  if (trains) configuration.training.validate(model);
  auto tokenizer = text::Tokenizer::from_file(directory / "tokenizer.json");
  Setup setup{.command = command,
              .configuration = configuration,
              .toml = to_toml(configuration),
              .directory = run_directory(configuration.run),
              .steps = 0,
              .plan = plan,
              .model = model,
              .tokenizer = tokenizer,
              .prompt_encoder = environment::PromptEncoder::from_directory(directory, tokenizer,
                                                                           configuration.chat),
              .catalogue = std::make_shared<weights::Catalogue>(
                  model::tensor_specs(model), configuration.weights.transfer_type),
              .environments = nullptr,
              .prompts = nullptr,
              .held_out = {},
              .initial = nullptr,
              .weight_version = 0,
              .resume = {},
              .run_id = {},
              .hosts = {},
              .usable_memory_bytes =
                  configuration.rollout.mem_fraction_static ? base::usable_memory_bytes() : 0,
              .ranks_here = plan.world_size(),
              .locks = {}};
  check_tokenizer(setup.tokenizer, setup.model, directory.string());
  setup.environments =
      std::make_unique<environment::EnvironmentRegistry>(environment::make_environments(
          configuration.environment, static_cast<std::uint64_t>(configuration.run.seed)));
  const bool teaches = trains && configuration.training.loss.type == training::LossType::sft_loss;
  setup.prompts = open_prompts(configuration.data.prompt_data, setup, environment::Split::train,
                               teaches ? Use::lessons : Use::generation, world);
  setup.held_out = open_held_out(setup, world);
  if (trains) setup.steps = configuration.buffer.rollout_steps(setup.prompts->size());
  return setup;
}

void tell_hosts(Setup& setup, const parallel::Communicator& world) {
  const std::string mine = base::host_name();
  std::multiset<std::string> hosts;
  for (const auto& bytes : world.all_gather_bytes(std::as_bytes(std::span(mine))))
    hosts.emplace(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  setup.ranks_here = static_cast<std::int64_t>(hosts.count(mine));
  std::ranges::unique_copy(hosts, std::back_inserter(setup.hosts));
}

}  // namespace

std::filesystem::path Setup::checkpoints() const {
  return in_run(configuration.checkpoint.save, configuration.run);
}

Setup load_setup(const std::string& command, const std::vector<std::string>& arguments, Needs needs,
                 const parallel::Communicator& world, int ranks) {
  std::optional<Setup> setup;
  parallel::together(world,
                     [&] { setup.emplace(read_all(command, arguments, needs, world, ranks)); });
  // A plan for other ranks has them all on this machine.
  if (ranks == 0) tell_hosts(*setup, world);
  parallel::together(world, [&] { (void)engine_options(*setup); });
  return std::move(*setup);
}

}  // namespace physarum::app
