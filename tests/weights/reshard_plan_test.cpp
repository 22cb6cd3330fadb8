#include "physarum/weights/reshard_plan.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "physarum/base/error.hpp"

#include "physarum/weights/reshard_rounds.hpp"

#include "tiny_model.hpp"

namespace physarum::weights {
namespace {

using test::TinyModel;
using Memory = std::vector<std::byte>;

/// Numbers as elements of the type, the lowest bytes first.
Memory elements_of(const std::vector<std::uint32_t>& numbers, TransferType type) {
  const auto width = static_cast<std::size_t>(element_bytes(type));
  Memory memory(numbers.size() * width);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::memcpy(memory.data() + i * width, &numbers[i], width);
  }
  return memory;
}

/// A store on plain memory that counts how often each byte was put.
struct PlainStore {
  PlainStore(std::int64_t bytes, std::int64_t ranks) : shards(bytes, ranks) {
    for (std::int64_t buffer = 0; buffer < ranks; ++buffer) {
      const auto size = static_cast<std::size_t>(shards.of(buffer).size());
      windows.emplace_back(size);
      times_put.emplace_back(size);
    }
  }
  StoreShards shards;
  std::vector<Memory> windows;
  std::vector<std::vector<int>> times_put;
};

/// Runs through the bytes of a transfer: use(place in the store, place in the shard, length).
template <class Use>
void for_each_run(const Transfer& transfer, const Use& use) {
  for (std::int64_t run = 0; run < transfer.store.count; ++run) {
    use(static_cast<std::size_t>(transfer.store.offset + run * transfer.store.stride),
        static_cast<std::size_t>(transfer.shard_offset + run * transfer.shard_stride),
        static_cast<std::size_t>(transfer.store.length));
  }
}

/// Puts what the plan says from a shard, through a buffer of one round's size. Returns the rounds.
std::int64_t put_all(std::span<const ShardSlice> slices, const Memory& shard,
                     std::int64_t round_bytes, PlainStore& store) {
  RoundCutter cutter(slices, store.shards, round_bytes);
  std::int64_t rounds = 0;
  for (auto round = cutter.next(); !round.empty(); round = cutter.next(), ++rounds) {
    Memory buffer;
    for (const Transfer& transfer : round) {
      for_each_run(transfer, [&](std::size_t, std::size_t from, std::size_t length) {
        buffer.insert(buffer.end(), &shard.at(from), &shard.at(from + length - 1) + 1);
      });
    }
    EXPECT_LE(std::ssize(buffer), round_bytes);
    std::size_t at = 0;
    for (const Transfer& transfer : round) {
      auto& window = store.windows.at(static_cast<std::size_t>(transfer.buffer));
      auto& times = store.times_put.at(static_cast<std::size_t>(transfer.buffer));
      for_each_run(transfer, [&](std::size_t to, std::size_t, std::size_t length) {
        for (std::size_t i = 0; i < length; ++i) {
          window.at(to + i) = buffer.at(at++);
          ++times.at(to + i);
        }
      });
    }
  }
  return rounds;
}

/// Gets a shard; `times` counts how often each of its bytes came.
Memory get_all(const Shard& shard, std::int64_t round_bytes, const PlainStore& store,
               std::vector<int>& times) {
  Memory memory(static_cast<std::size_t>(shard.bytes));
  times.assign(memory.size(), 0);
  RoundCutter cutter(shard.slices, store.shards, round_bytes);
  for (auto round = cutter.next(); !round.empty(); round = cutter.next()) {
    std::int64_t bytes = 0;
    for (const Transfer& transfer : round) {
      bytes += transfer.store.bytes();
      const auto& window = store.windows.at(static_cast<std::size_t>(transfer.buffer));
      for_each_run(transfer, [&](std::size_t from, std::size_t to, std::size_t length) {
        for (std::size_t i = 0; i < length; ++i) {
          memory.at(to + i) = window.at(from + i);
          ++times.at(to + i);
        }
      });
    }
    EXPECT_LE(bytes, round_bytes);
  }
  return memory;
}

/// Puts and gets everything and compares with the slow truth.
void expect_right(const TinyModel& model, TransferType type, const TrainerGrid& trainer,
                  const EngineGrid& engine, std::int64_t buffers, std::int64_t round_bytes) {
  const auto catalogue = model.catalogue(type);
  const ReshardPlan plan(*catalogue, model.facts, trainer, engine);
  PlainStore store(catalogue->total_bytes(), buffers);
  ASSERT_EQ(plan.trainer_ranks(), trainer.ranks());
  for (std::int64_t rank = 0; rank < plan.trainer_ranks(); ++rank) {
    const Memory shard = elements_of(model.trainer_shard(*catalogue, trainer, rank), type);
    ASSERT_EQ(plan.trainer_shard(rank).bytes, std::ssize(shard)) << "trainer rank " << rank;
    EXPECT_EQ(put_all(plan.puts(rank), shard, round_bytes, store),
              rounds_for(bytes_of(plan.puts(rank)), round_bytes));
  }
  std::vector<std::uint32_t> numbers(static_cast<std::size_t>(catalogue->total_elements()));
  for (std::int64_t tensor = 0; tensor < catalogue->size(); ++tensor) {
    for (auto i = catalogue->elements(tensor).begin; i < catalogue->elements(tensor).end; ++i) {
      numbers[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(i + 1);
    }
  }
  const Memory image = elements_of(numbers, type);
  const auto width = static_cast<std::size_t>(element_bytes(type));
  std::size_t at = 0;
  for (std::size_t buffer = 0; buffer < store.windows.size(); ++buffer) {
    for (std::size_t i = 0; i < store.windows[buffer].size(); ++i, ++at) {
      ASSERT_EQ(store.windows[buffer][i], image[at]);
      ASSERT_EQ(store.times_put[buffer][i], numbers[at / width] == 0 ? 0 : 1);
    }
  }
  for (std::int64_t rank = 0; rank < plan.engine_ranks(); ++rank) {
    const auto expected = model.engine_shard(*catalogue, engine, rank);
    std::vector<int> times;
    ASSERT_EQ(get_all(plan.engine_shard(rank), round_bytes, store, times),
              elements_of(expected, type))
        << "engine rank " << rank;
    for (std::size_t i = 0; i < times.size(); ++i) {
      ASSERT_EQ(times[i], expected[i / width] == 0 ? 0 : 1);
    }
  }
}

class AnyGrid : public testing::TestWithParam<TinyModel::Family> {};

TEST_P(AnyGrid, puts_and_gets_every_byte_once_and_gives_what_direct_sharding_gives) {
  std::mt19937_64 random(7 + static_cast<std::uint64_t>(GetParam()));
  const auto any = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  for (int round = 0; round < 120; ++round) {
    const TinyModel model(GetParam(), random);
    TrainerGrid trainer;
    trainer.tensor = any(1, std::min<std::int64_t>(model.facts.attention_heads, 5));
    trainer.pipeline = any(1, model.facts.layers);
    trainer.data = any(1, 4);
    trainer.vocabulary_multiple = any(1, 9);
    if (model.facts.experts > 0) {
      do {
        trainer.expert = any(1, model.facts.experts);
        trainer.expert_tensor = any(1, 3);
      } while (trainer.stage_ranks() % (trainer.expert * trainer.expert_tensor) != 0);
    }
    EngineGrid engine;
    engine.tensor = any(1, std::min<std::int64_t>(model.facts.attention_heads, 9));
    engine.vocabulary_multiple = any(1, 9);
    const TransferType type = any(0, 1) == 0 ? TransferType::bf16 : TransferType::f32;
    ASSERT_NO_FATAL_FAILURE(expect_right(model, type, trainer, engine, any(1, 3), 4 * any(1, 300)));
  }
}

std::string name_of_family(const testing::TestParamInfo<TinyModel::Family>& family) {
  constexpr const char* names[] = {"dense", "fused", "mixture", "latent"};
  return names[static_cast<std::size_t>(family.param)];
}

INSTANTIATE_TEST_SUITE_P(Families, AnyGrid,
                         testing::Values(TinyModel::Family::dense, TinyModel::Family::fused,
                                         TinyModel::Family::mixture, TinyModel::Family::latent),
                         name_of_family);

const SplitFacts small_facts{
    .layers = 2, .attention_heads = 8, .key_value_heads = 2, .experts = 4, .tied_head = false};

ReshardPlan plan_for(std::vector<TensorSpec> specs, const TrainerGrid& trainer,
                     const EngineGrid& engine = {}) {
  return {*make_catalogue(std::move(specs), TransferType::bf16), small_facts, trainer, engine};
}

TEST(ReshardPlan, key_value_heads_are_repeated_when_there_are_more_ranks) {
  TrainerGrid grid;
  grid.tensor = 8;
  const auto plan = plan_for({{"model.layers.0.self_attn.k_proj.weight", {2 * 16, 32}}}, grid);
  std::int64_t held = 0, put = 0, most = 0;
  for (std::int64_t rank = 0; rank < 8; ++rank) {
    held += bytes_of(plan.trainer_shard(rank).slices);
    put += bytes_of(plan.puts(rank));
    most = std::max(most, bytes_of(plan.puts(rank)));
  }
  EXPECT_EQ(held, 8 * 16 * 32 * 2);
  EXPECT_EQ(put, 2 * 16 * 32 * 2);
  EXPECT_EQ(most, 16 * 32 * 2);
}

TEST(ReshardPlan, replicas_share_what_they_put) {
  std::vector<TensorSpec> specs;
  for (int layer = 0; layer < 2; ++layer) {
    const std::string prefix = "model.layers." + std::to_string(layer) + ".mlp.";
    specs.push_back({prefix + "gate_proj.weight", {64, 64}});
    specs.push_back({prefix + "up_proj.weight", {64, 64}});
  }
  TrainerGrid grid;
  grid.data = 4;
  const auto plan = plan_for(specs, grid);
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(bytes_of(plan.puts(rank)), 64 * 64 * 2);
  }
}

TEST(ReshardPlan, a_large_matrix_is_described_by_one_slice_a_rank) {
  TrainerGrid grid;
  grid.tensor = 4;
  const auto plan =
      plan_for({{"model.layers.0.mlp.down_proj.weight", {1'000'000, 4'000'000}}}, grid);
  ASSERT_EQ(plan.puts(1).size(), 1U);
  const ShardSlice expected{.tensor = 0,
                            .image = {2'000'000, 2'000'000, 1'000'000, 8'000'000},
                            .shard_offset = 0,
                            .shard_stride = 2'000'000};
  EXPECT_EQ(plan.puts(1)[0], expected);
}

/// The text of the error that the plan ends with.
std::string refusal(const std::vector<TensorSpec>& specs, const TrainerGrid& trainer,
                    const EngineGrid& engine = {}) {
  try {
    (void)plan_for(specs, trainer, engine);
  } catch (const base::UserError& error) {
    return error.what();
  }
  return "";
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(ReshardPlan, an_unknown_tensor_is_named) {
  for (const char* name :
       {"model.layers.0.mlp.oracle.weight", "model.layers.0.self_attn.q_proj.weight_scale_inv",
        "vision.patch.weight", "model.layers.x.input_layernorm.weight", "model.layers.1",
        "model.layers.0.mlp.experts.1.oracle.weight",
        "model.layers.99999999999999999999.input_layernorm.weight"}) {
    const std::string text = refusal({{name, {8, 8}}}, {});
    EXPECT_TRUE(says(text, name)) << text;
    EXPECT_TRUE(says(text, "not known how to split")) << text;
  }
}

TEST(ReshardPlan, tensors_that_do_not_fit_the_model_are_named) {
  const auto about = [](const char* name, std::vector<std::int64_t> shape) {
    const std::string text = refusal({{name, std::move(shape)}}, {});
    return says(text, name) ? text : "the tensor is not named: " + text;
  };
  EXPECT_TRUE(says(about("model.layers.2.mlp.up_proj.weight", {8, 8}), "beyond the model's 2"));
  EXPECT_TRUE(
      says(about("model.layers.1.mlp.experts.4.up_proj.weight", {8, 8}), "beyond the model's 4"));
  EXPECT_TRUE(says(about("model.layers.1.self_attn.q_proj.weight", {12, 8}), "no multiple"));
  EXPECT_TRUE(says(about("model.layers.1.self_attn.k_proj.weight", {3, 8}), "no multiple"));
  EXPECT_TRUE(says(about("model.layers.1.self_attn.o_proj.weight", {8, 12}), "no multiple"));
  EXPECT_TRUE(says(about("model.layers.1.self_attn.qkv_proj.weight", {13, 8}), "no multiple"));
  EXPECT_TRUE(says(about("model.layers.1.mlp.gate_up_proj.weight", {13, 8}), "no multiple"));
  EXPECT_TRUE(says(about("model.layers.1.mlp.up_proj.weight", {8, 8, 8}), "3 dimensions"));
}

TEST(ReshardPlan, grids_that_cannot_be_are_refused_by_flag) {
  const std::vector<TensorSpec> specs{{"model.norm.weight", {8}}};
  const auto with = [](auto change) {
    TrainerGrid grid;
    change(grid);
    return grid;
  };
  EXPECT_TRUE(says(refusal(specs, with([](TrainerGrid& grid) { grid.tensor = 9; })),
                   "--tensor-model-parallel-size"));
  EXPECT_TRUE(says(refusal(specs, with([](TrainerGrid& grid) { grid.pipeline = 3; })),
                   "--pipeline-model-parallel-size"));
  EXPECT_TRUE(says(refusal(specs, with([](TrainerGrid& grid) { grid.expert = 5; })),
                   "--expert-model-parallel-size"));
  EXPECT_TRUE(says(refusal(specs, with([](TrainerGrid& grid) { grid.expert = 2; })),
                   "--expert-model-parallel-size"));
  EXPECT_TRUE(says(refusal(specs, {}, EngineGrid{.tensor = 9}), "--rollout-num-gpus-per-engine"));
  EXPECT_EQ(refusal(specs, with([](TrainerGrid& grid) { grid.data = 3; })), "");
}

}  // namespace
}  // namespace physarum::weights
