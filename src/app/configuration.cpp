#include "physarum/app/configuration.hpp"

#include "physarum/parallel/options.hpp"

namespace physarum::app {

void declare_options(base::OptionTable& table, Configuration& configuration) {
  declare_options(table, configuration.run);
  declare_options(table, configuration.checkpoint);
  parallel::declare_options(table, configuration.layout);
  declare_options(table, configuration.data);
  environment::declare_options(table, configuration.chat);
  environment::declare_options(table, configuration.environment);
  buffer::declare_options(table, configuration.buffer);
  rollout::declare_options(table, configuration.rollout);
  weights::declare_options(table, configuration.weights);
  training::declare_options(table, configuration.training);
}

namespace {

/// An engine must find every version that the buffer asks for.
void check_update_interval(const Configuration& all) {
  const auto interval = all.weights.interval;
  if (interval == 1) return;
  const std::string where = "--update-weights-interval " + std::to_string(interval);
  if (all.buffer.mode != buffer::Mode::async || all.buffer.staleness() < interval - 1) {
    throw base::UserError("samples would be older than the mode allows: weights change every " +
                              std::to_string(interval) + " steps",
                          where,
                          "use --mode async with a --max-weight-staleness of at least " +
                              std::to_string(interval - 1));
  }
  if (all.buffer.eval_interval && *all.buffer.eval_interval % interval != 0) {
    throw base::UserError("versions that are to be evaluated would not be published", where,
                          "make --eval-interval a multiple of it");
  }
}

}  // namespace

void Configuration::validate() const {
  run.validate();
  checkpoint.validate();
  layout.validate();
  data.validate();
  environment.validate();
  chat.validate();
  buffer.validate();
  rollout.validate();
  weights.validate();
  training.validate();
  check_update_interval(*this);
  if (data.samples_jsonl && !buffer.save_samples) {
    throw base::UserError("samples cannot be left as JSON lines if none are saved",
                          "--samples-jsonl", "take back --no-save-samples");
  }
  if (buffer.over_samples() && training.loss.type == training::LossType::sft_loss) {
    throw base::UserError(
        "nothing is generated to learn from labels, so nothing is over-sampled",
        "--over-sampling-batch-size, --partial-rollout, --dynamic-sampling-filter",
        "leave them out, or use --loss-type policy_loss");
  }
}

Configuration read_configuration(const std::vector<std::string>& arguments) {
  // The file is found among the arguments, but flags must win: so the flags are read twice.
  Configuration first;
  base::OptionTable flags;
  declare_options(flags, first);
  const auto rest = base::read_arguments(arguments, flags);
  if (rest.empty()) return first;
  if (rest.size() > 1) {
    throw base::UserError("'" + rest[1] + "' is one argument too many", "command line",
                          "give at most one configuration file; flags begin with --");
  }
  Configuration configuration;
  base::OptionTable table;
  declare_options(table, configuration);
  base::read_toml(rest[0], table);
  (void)base::read_arguments(arguments, table);
  return configuration;
}

std::string to_toml(const Configuration& configuration) {
  Configuration copy = configuration;
  base::OptionTable table;
  declare_options(table, copy);
  return table.to_toml();
}

}  // namespace physarum::app
