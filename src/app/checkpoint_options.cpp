#include "physarum/app/checkpoint_options.hpp"

#include "physarum/base/error.hpp"

namespace physarum::app {

void CheckpointOptions::validate() const {
  if (!save.empty()) return;
  const char* const needs = save_interval                    ? "--save-interval"
                            : resume                         ? "--resume"
                            : async_save                     ? "--async-save"
                            : !save_trigger_sentinel.empty() ? "--save-trigger-sentinel"
                                                             : nullptr;
  if (needs == nullptr) return;
  throw base::UserError("there is no directory for checkpoints", needs,
                        "name one with --save, or leave --save out");
}

void declare_options(base::OptionTable& table, CheckpointOptions& options) {
  constexpr std::int64_t most = std::int64_t{1} << 24;
  table.topic("checkpoint");
  table.add(
      "save", options.save,
      "Directory of the run's checkpoints ({run}: the run's own); empty: none are written and "
      "signals end the run.");
  table.add("save-interval", options.save_interval,
            "Rollout steps between two checkpoints; one more is written after the last step.",
            {1, most});
  table.add("load", options.load,
            "Go on from the newest intact checkpoint in this directory, or from this step-N.");
  table.add_switch("resume", options.resume,
                   "Go on from the newest intact checkpoint in --save; without one, begin (from "
                   "--load if it is given).");
  table.add_switch("async-save", options.async_save,
                   "Write checkpoints in the background while training goes on.");
  table.add_switch("save-optim", options.save_optim,
                   "Keep the optimiser's state in checkpoints; --no-save-optim: weights alone.");
  table.add_switch("load-optim", options.load_optim,
                   "Take the optimiser's state from the checkpoint; --no-load-optim: begin anew.");
  table.add("keep-checkpoints", options.keep_checkpoints,
            "How many of the newest checkpoints are kept; 0: all.",
            base::Range<std::int64_t>{0, most});
  table.add("save-trigger-sentinel", options.save_trigger_sentinel,
            "When this file appears, a checkpoint is written and the file removed.");
  table.add_list("allow-changed", options.allow_changed,
                 "Keys in which this run may differ from the checkpoint it goes on from.");
}

}  // namespace physarum::app
