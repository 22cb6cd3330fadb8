#include "engine_memory.hpp"

#include <algorithm>

namespace physarum::app {

std::int64_t engine_weight_bytes(const Setup& setup) {
  const auto image = setup.catalogue->total_bytes();
  const auto forms = 2 * image + weights::carrier_bytes(setup.configuration.weights, image);
  const auto elements = setup.catalogue->total_elements();
  const auto twice =
      setup.model.tie_word_embeddings ? setup.model.vocab_size * setup.model.hidden_size : 0;
  return forms + twice * (image / elements) + rollout::weight_change_bytes(elements + twice);
}

rollout::EngineMemory engine_share(const Setup& setup) {
  return {.usable_bytes = setup.usable_memory_bytes / std::max<std::int64_t>(1, setup.ranks_here),
          .weight_bytes = engine_weight_bytes(setup)};
}

rollout::RolloutOptions engine_options(const Setup& setup) {
  auto options = setup.configuration.rollout;
  options.kv_cache_bytes = options.cache_bytes(setup.model, engine_share(setup));
  options.mem_fraction_static.reset();
  return options;
}

}  // namespace physarum::app
