// Changes of weights while sequences are decoded, as a rollout worker makes them: how long decoding
// pauses against how long a decode step takes.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "physarum/base/contracts.hpp"
#include "physarum/base/deadline.hpp"
#include "physarum/base/philox.hpp"

#include "engine_modes.hpp"

namespace physarum::rollout {

namespace {

/// The next version: the lowest bit of one weight in a hundred.
void advance_version(weights::Image& image, std::int64_t version) {
  const base::RandomStream random(1, base::StreamKind::test);
  const auto width = static_cast<std::size_t>(weights::element_bytes(image.catalogue().type()));
  constexpr std::uint64_t most_gap = 200;
  const auto key = static_cast<std::uint64_t>(version);
  std::uint32_t draw = 0;
  for (std::size_t at = random.below(most_gap, key, draw); at * width < image.bytes().size();
       at += 1 + random.below(most_gap, key, draw)) {
    image.bytes()[at * width] ^= std::byte{1};
    ++draw;
  }
  image.set_version(base::WeightVersion(version));
}

double quantile(std::vector<double> values, double part) {
  std::ranges::sort(values);
  const auto last = static_cast<double>(values.size() - 1);
  return values[static_cast<std::size_t>(part * last + 0.5)];
}

}  // namespace

void measure_swap(const FigureOptions& options) {
  // A slice is what a worker allows: about a tenth of a step, at a few gigabytes a second.
  constexpr double slice_bytes_a_s = 3e8;
  for (const auto sequences : options.parallel) {
    const auto tokens = 100 * options.repeats;
    auto loaded = load_engine(options, {.context_tokens = options.context + tokens,
                                        .sequences = sequences,
                                        .prefill_tokens = sequences * options.context,
                                        .kv_cache_bytes = options.kv_cache_bytes});
    auto image = load_engine_image(options, loaded.config);
    auto& engine = loaded.engine;
    sample::SamplingOptions sampling;
    sampling.temperature = options.temperature;
    sampling.max_response_tokens = tokens;
    sampling.max_context_tokens = 1 << 20;
    for (std::int64_t i = 0; i < sequences; ++i) {
      engine.add({.prompt = make_prompt(i, options.context, loaded.config.vocab_size),
                  .first_sample = base::SampleId(i),
                  .n_samples = 1,
                  .sampling = sampling});
    }
    static_cast<void>(engine.step());
    std::vector<double> steps;
    std::vector<double> pauses;
    for (std::int64_t version = 2; std::ssize(pauses) < options.repeats; ++version) {
      advance_version(image, version);
      do {
        base::expects(engine.unfinished() == sequences, "all go on until the end");
        const base::Stopwatch watch;
        static_cast<void>(engine.step());
        steps.push_back(watch.seconds());
      } while (!engine.prepare_weights(image,
                                       static_cast<std::int64_t>(steps.back() * slice_bytes_a_s)));
      const base::Stopwatch watch;
      engine.set_weights(image, PauseGenerationMode::in_place);
      pauses.push_back(watch.seconds());
    }
    std::printf(
        "{\"engine\": \"physarum\", \"what\": \"swap\", \"storage\": \"%s\", \"sequences\": %ld, "
        "\"versions\": %ld, \"step_s\": %.5f, \"pause_s\": %.5f, \"pause_p99_s\": %.5f}\n",
        options.storage.c_str(), sequences, options.repeats, quantile(steps, 0.5),
        quantile(pauses, 0.5), quantile(pauses, 0.99));
  }
}

}  // namespace physarum::rollout
