#include "memory_plan.hpp"

#include <algorithm>
#include <cstdio>

#include "engine_memory.hpp"

namespace physarum::app {

namespace {

std::string line_of(const char* role, double total_mb, const std::string& parts) {
  char text[256];
  std::snprintf(text, sizeof text, "%s rank: %.1f MB (%s)", role, total_mb, parts.c_str());
  return text;
}

std::string part(const char* what, double mb) {
  char text[96];
  std::snprintf(text, sizeof text, "%s %.1f", what, mb);
  return text;
}

/// Where the size of the cache comes from, if it is a share of the memory.
std::string share_text(const Setup& setup) {
  const auto share = setup.configuration.rollout.mem_fraction_static;
  if (!share) return "";
  char text[160];
  std::snprintf(text, sizeof text, ", together %.2f of %.1f for each of %lld ranks on this machine",
                *share, static_cast<double>(engine_share(setup).usable_bytes) / 1e6,
                static_cast<long long>(setup.ranks_here));
  return text;
}

}  // namespace

MemoryPlan memory_plan(const Setup& setup, const WeightPlan& share) {
  constexpr double mb = 1e6;
  const auto& options = setup.configuration;
  const double image = static_cast<double>(setup.catalogue->total_bytes()) / mb;
  const auto width = static_cast<double>(weights::element_bytes(setup.catalogue->type()));
  const double flat = static_cast<double>(share.trainer_shard) / width * 4 / mb;
  const auto buffers = static_cast<double>(setup.plan.buffer_ranks().size());
  const auto trainers =
      static_cast<double>(std::max<std::size_t>(1, setup.plan.trainer_ranks().size()));

  const double store =
      static_cast<double>(weights::store_bytes(options.weights, setup.catalogue->total_bytes())) /
      mb / buffers;
  const double slots = 2 * image / buffers;
  const double ring = store - slots;
  const bool reference = options.training.loss.use_kl_loss;
  // Compute weights, gradients, masters, two moments; what has changed in the range that is
  // published, which takes as much memory at most, or the range itself.
  const double training = 5 * flat + (reference ? flat : 0);
  const double publishing = static_cast<double>(share.put.most) / mb;
  const auto& checkpoint = options.checkpoint;
  const bool copies = checkpoint.async_save && !checkpoint.save.empty();
  const double saving = copies ? (checkpoint.save_optim ? 3 : 1) * flat / trainers : 0;
  const double engine = static_cast<double>(engine_weight_bytes(setup)) / mb *
                        static_cast<double>(share.engine_shard) /
                        static_cast<double>(setup.catalogue->total_bytes());
  const double cache = static_cast<double>(*engine_options(setup).kv_cache_bytes) / mb;
  const double writing =
      static_cast<double>(weights::writer_bytes(options.weights, setup.catalogue->total_bytes())) /
      mb / buffers;
  return {{slots + ring + writing, part("images", slots) + ", " + part("deltas at most", ring) +
                                       (writing > 0 ? ", " + part("files", writing) : "")},
          {training + publishing + saving,
           part("weights, gradients, optimiser", training) + ", " + part("publishing", publishing) +
               (copies ? ", " + part("checkpoint in the background", saving) : "")},
          {engine + cache, part("weights", engine) + ", " + part("key-value cache at most", cache) +
                               share_text(setup)}};
}

std::vector<std::string> MemoryPlan::lines() const {
  return {line_of("buffer", buffer.mb, buffer.parts), line_of("trainer", trainer.mb, trainer.parts),
          line_of("rollout", rollout.mb, rollout.parts)};
}

}  // namespace physarum::app
