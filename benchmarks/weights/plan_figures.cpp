// plan_figures: makes the resharding plan of a mixture of experts with the shapes of DeepSeek-V3
// (671 billion parameters) from a trainer of 512 ranks (TP 8, PP 16, DP 4, EP 32) to engines of 16,
// over 64 buffer ranks. Prints, each with a name and a value on a line: seconds, peak memory of the
// process, bytes that each kind of rank moves, and the time to cut what the busiest engine rank
// gets into rounds of 64 MiB.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <sys/resource.h>

#include "physarum/base/deadline.hpp"

#include "physarum/weights/reshard_plan.hpp"
#include "physarum/weights/reshard_rounds.hpp"

namespace {

using namespace physarum;

constexpr std::int64_t layers = 61;
constexpr std::int64_t dense_layers = 3;
constexpr std::int64_t hidden = 7168;
constexpr std::int64_t heads = 128;
constexpr std::int64_t experts = 256;
constexpr std::int64_t buffer_ranks = 64;
constexpr std::int64_t round_bytes = std::int64_t{64} << 20;

class Shapes {
 public:
  void add(const std::string& name, std::vector<std::int64_t> shape) {
    specs.push_back({prefix + name, std::move(shape)});
  }
  void add_feed_forward(const std::string& name, std::int64_t width) {
    add(name + ".gate_proj.weight", {width, hidden});
    add(name + ".up_proj.weight", {width, hidden});
    add(name + ".down_proj.weight", {hidden, width});
  }
  void add_layer(std::int64_t layer) {
    prefix = "model.layers." + std::to_string(layer) + ".";
    add("input_layernorm.weight", {hidden});
    add("self_attn.q_a_proj.weight", {1536, hidden});
    add("self_attn.q_a_layernorm.weight", {1536});
    add("self_attn.q_b_proj.weight", {heads * 192, 1536});
    add("self_attn.kv_a_proj_with_mqa.weight", {512 + 64, hidden});
    add("self_attn.kv_a_layernorm.weight", {512});
    add("self_attn.kv_b_proj.weight", {heads * 256, 512});
    add("self_attn.o_proj.weight", {hidden, heads * 128});
    add("post_attention_layernorm.weight", {hidden});
    if (layer < dense_layers) {
      add_feed_forward("mlp", 18432);
      return;
    }
    add("mlp.gate.weight", {experts, hidden});
    add("mlp.gate.e_score_correction_bias", {experts});
    add_feed_forward("mlp.shared_experts", 2048);
    for (std::int64_t expert = 0; expert < experts; ++expert) {
      add_feed_forward("mlp.experts." + std::to_string(expert), 2048);
    }
  }

  std::string prefix;
  std::vector<weights::TensorSpec> specs;
};

weights::CataloguePtr catalogue_671b() {
  Shapes shapes;
  shapes.add("model.embed_tokens.weight", {129280, hidden});
  for (std::int64_t layer = 0; layer < layers; ++layer) shapes.add_layer(layer);
  shapes.prefix.clear();
  shapes.add("model.norm.weight", {hidden});
  shapes.add("lm_head.weight", {129280, hidden});
  return weights::make_catalogue(std::move(shapes.specs), weights::TransferType::bf16);
}

double peak_memory_gb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e9;
}

void print_spread(const char* name, std::int64_t count,
                  const std::function<std::int64_t(std::int64_t)>& of) {
  std::int64_t least = of(0), most = of(0), sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    least = std::min(least, of(i));
    most = std::max(most, of(i));
    sum += of(i);
  }
  std::printf("%s_least_gb %.4f\n%s_most_gb %.4f\n%s_mean_gb %.4f\n", name,
              static_cast<double>(least) / 1e9, name, static_cast<double>(most) / 1e9, name,
              static_cast<double>(sum) / static_cast<double>(count) / 1e9);
}

}  // namespace

int main() {
  const auto catalogue = catalogue_671b();
  const weights::SplitFacts facts{.layers = layers,
                                  .attention_heads = heads,
                                  .key_value_heads = heads,
                                  .experts = experts,
                                  .tied_head = false};
  weights::TrainerGrid trainer;
  trainer.tensor = 8;
  trainer.pipeline = 16;
  trainer.data = 4;
  trainer.expert = 32;
  weights::EngineGrid engine;
  engine.tensor = 16;
  const base::Stopwatch planning;
  const weights::ReshardPlan plan(*catalogue, facts, trainer, engine);
  std::printf("parameters_g %.2f\n", static_cast<double>(catalogue->total_elements()) / 1e9);
  std::printf("seconds %.3f\n", planning.seconds());
  print_spread("put", plan.trainer_ranks(),
               [&](std::int64_t rank) { return weights::bytes_of(plan.puts(rank)); });
  print_spread("got", plan.engine_ranks(), [&](std::int64_t rank) {
    return weights::bytes_of(plan.engine_shard(rank).slices);
  });
  const weights::StoreShards store(catalogue->total_bytes(), buffer_ranks);
  print_spread("kept", buffer_ranks, [&](std::int64_t rank) { return store.of(rank).size(); });
  const base::Stopwatch cutting;
  weights::RoundCutter cutter(plan.engine_shard(0).slices, store, round_bytes);
  std::int64_t rounds = 0;
  std::size_t transfers = 0;
  for (auto round = cutter.next(); !round.empty(); round = cutter.next(), ++rounds) {
    transfers += round.size();
  }
  std::printf("cut_seconds %.3f\nrounds %lld\ntransfers %zu\n", cutting.seconds(),
              static_cast<long long>(rounds), transfers);
  std::printf("peak_memory_gb %.3f\n", peak_memory_gb());
  return 0;
}
