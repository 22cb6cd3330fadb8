#include "weight_plan.hpp"

#include <algorithm>
#include <cstdio>

#include "physarum/weights/reshard_plan.hpp"
#include "physarum/weights/reshard_rounds.hpp"

namespace physarum::app {

namespace {

using Spread = WeightPlan::Spread;

/// Of of(0) ... of(count - 1); nothing of no ranks.
template <class Of>
Spread spread_over(std::int64_t count, const Of& of) {
  if (count == 0) return {};
  Spread spread{of(0), of(0)};
  for (std::int64_t i = 1; i < count; ++i) {
    spread.least = std::min(spread.least, of(i));
    spread.most = std::max(spread.most, of(i));
  }
  return spread;
}

/// How many groups of `size` the ranks make.
std::int64_t groups_of(std::int64_t ranks, std::int64_t size, const char* kind, const char* flag) {
  if (ranks % size == 0) return ranks / size;
  throw base::UserError(std::to_string(ranks) + " " + kind +
                            " ranks cannot be shared in groups of " + std::to_string(size),
                        flag, "give a multiple of it, or another size");
}

weights::TrainerGrid trainer_grid(const Setup& setup) {
  const auto& sizes = setup.configuration.layout;
  weights::TrainerGrid grid;
  grid.tensor = sizes.tensor_model_parallel_size;
  grid.pipeline = sizes.pipeline_model_parallel_size;
  grid.expert = sizes.expert_model_parallel_size;
  grid.expert_tensor = sizes.expert_tensor_parallel_size.value_or(grid.tensor);
  grid.data = groups_of(std::ssize(setup.plan.trainer_ranks()), grid.tensor * grid.pipeline,
                        "trainer", "--trainer-ranks");
  return grid;
}

void plan_split(const Setup& setup, WeightPlan& result) {
  const auto& model = setup.model;
  const auto& per_engine = setup.configuration.layout.rollout_num_gpus_per_engine;
  (void)groups_of(std::ssize(setup.plan.rollout_ranks()), per_engine, "rollout", "--rollout-ranks");
  const weights::SplitFacts facts{.layers = model.num_hidden_layers,
                                  .attention_heads = model.num_attention_heads,
                                  .key_value_heads = model.num_key_value_heads,
                                  .experts = model.experts.count,
                                  .tied_head = model.tie_word_embeddings};
  weights::EngineGrid engine;
  engine.tensor = per_engine;
  const weights::ReshardPlan plan(*setup.catalogue, facts, trainer_grid(setup), engine);
  result.put = spread_over(plan.trainer_ranks(),
                           [&](std::int64_t rank) { return weights::bytes_of(plan.puts(rank)); });
  result.got = spread_over(plan.engine_ranks(), [&](std::int64_t rank) {
    return weights::bytes_of(plan.engine_shard(rank).slices);
  });
  const auto held = [](const weights::Shard& shard) { return shard.bytes; };
  result.trainer_shard = spread_over(plan.trainer_ranks(), [&](std::int64_t rank) {
                           return held(plan.trainer_shard(rank));
                         }).most;
  result.engine_shard = spread_over(plan.engine_ranks(), [&](std::int64_t rank) {
                          return held(plan.engine_shard(rank));
                        }).most;
}

void plan_whole(const Setup& setup, WeightPlan& result) {
  const std::int64_t image = setup.catalogue->total_bytes();
  const std::int64_t trainers = std::ssize(setup.plan.trainer_ranks());
  result.put = spread_over(trainers, [&](std::int64_t rank) {
    return weights::StoreShards(image, trainers).of(rank).size();
  });
  result.got = {image, image};
  result.trainer_shard = result.engine_shard = image;
}

std::string size_text(const Spread& spread) {
  const auto mb = [](std::int64_t bytes) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", static_cast<double>(bytes) / 1e6);
    return std::string(text);
  };
  const auto least = mb(spread.least), most = mb(spread.most);
  return (least == most ? "" : least + " to ") + most + " MB";
}

std::string rounds_text(std::int64_t rounds) {
  return " in " + std::to_string(rounds) + (rounds == 1 ? " round" : " rounds") + " at most";
}

}  // namespace

WeightPlan weight_plan(const Setup& setup) {
  WeightPlan result;
  result.split = setup.configuration.layout.splits_model();
  if (result.split) {
    plan_split(setup, result);
  } else {
    plan_whole(setup, result);
  }
  const std::int64_t buffers = std::ssize(setup.plan.buffer_ranks());
  result.kept = spread_over(buffers, [&](std::int64_t rank) {
    return weights::StoreShards(setup.catalogue->total_bytes(), buffers).of(rank).size();
  });
  const std::int64_t round_bytes = setup.configuration.weights.buffer_bytes;
  result.most_put_rounds = weights::rounds_for(result.put.most, round_bytes);
  result.most_got_rounds = weights::rounds_for(result.got.most, round_bytes);
  return result;
}

std::vector<std::string> WeightPlan::lines() const {
  std::vector<std::string> text{
      "trainer rank: puts " + size_text(put) + " of a full version," + rounds_text(most_put_rounds),
      "rollout rank: gets " + size_text(got) + "," + rounds_text(most_got_rounds),
      "buffer rank: keeps " + size_text(kept) + " of the image"};
  if (split) {
    text.emplace_back(
        "the model is split over ranks: this is the plan; training with it is not possible yet");
  }
  return text;
}

void refuse_split_model(const Configuration& configuration) {
  const auto flag = configuration.layout.split_flag();
  if (flag.empty()) return;
  throw base::UserError("a model that is split over ranks cannot be computed yet",
                        std::string(flag),
                        "leave it at 1; `physarum check` shows the plan of its weights");
}

}  // namespace physarum::app
