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
}

}  // namespace physarum::parallel
