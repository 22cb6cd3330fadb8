#include "physarum/parallel/options.hpp"

namespace physarum::parallel {

void declare_options(base::OptionTable& table, LayoutOptions& options) {
  constexpr base::Range<std::int64_t> any_count{0, 1'000'000};
  table.topic("ranks");
  table.add("buffer-ranks", options.buffer_ranks,
            "Ranks that hold prompts, samples and weights; with --colocate the first ranks do it "
            "beside their other work.",
            base::Range<std::int64_t>{1, any_count.high});
  table.add("trainer-ranks", options.trainer_ranks, "Ranks that train; left out: one.", any_count);
  table.add("rollout-ranks", options.rollout_ranks, "Ranks that generate; left out: all others.",
            any_count);
  table.add_switch("colocate", options.colocate, "Every rank trains and generates, in turns.");
  constexpr base::Range<std::int64_t> any_size{1, 4096};
  table.add("tensor-model-parallel-size", options.tensor_model_parallel_size,
            "Trainer ranks that share each matrix; above 1 only check can plan it.", any_size);
  table.add("pipeline-model-parallel-size", options.pipeline_model_parallel_size,
            "Trainer ranks that share the layers; above 1 only check can plan it.", any_size);
  table.add("expert-model-parallel-size", options.expert_model_parallel_size,
            "Trainer ranks that share the experts; above 1 only check can plan it.", any_size);
  table.add("expert-tensor-parallel-size", options.expert_tensor_parallel_size,
            "Trainer ranks that share each expert; left out: as tensor-model-parallel-size.",
            any_size);
  table.add("rollout-num-gpus-per-engine", options.rollout_num_gpus_per_engine,
            "Rollout ranks that share the model of one engine; above 1 only check can plan it.",
            any_size);
}

}  // namespace physarum::parallel
