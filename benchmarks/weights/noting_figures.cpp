// What noting changes costs the optimiser: steps of AdamW on a model of SmolLM2-135M's shape.
//   noting_figures LR     processor time of a step, ms: AdamW, and then rounding; both piece by
//                         piece; the same with noting; and the changed share in percent
// A line for each figure: name, then value. ROUNDS: how often, in turns; medians are printed.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

#include <time.h>

#include "physarum/weights/convert.hpp"

#include "model/smollm2_shape.hpp"
#include "weight_updater.hpp"

namespace physarum::training {
namespace {

using weights::TransferType;

/// Of this thread: what others do at the same time is not to count.
double processor_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double median_ms(std::vector<double>& seconds) {
  std::sort(seconds.begin(), seconds.end());
  return 1e3 * seconds[seconds.size() / 2];
}

void random_gradients(std::span<float> gradients, std::mt19937& random) {
  for (float& gradient : gradients) {
    gradient = static_cast<float>(static_cast<std::int32_t>(random())) * 0x1p-31F;
  }
}

/// The first one as it would be without anybody who looks at its pieces.
double two_passes_s(AdamW& adam, model::ParameterStore& store, std::span<float> masters,
                    double lr) {
  const double begin = processor_s();
  adam.update(masters, store.gradients(), 1, lr);
  weights::round_to_transfer(masters, TransferType::bf16, store.values());
  return processor_s() - begin;
}

void run(double lr, int rounds) {
  auto config = model::smollm2_shape();
  config.initializer_range = 0.04;
  model::ParameterStore store(config, model::Gradients::allocate);
  std::mt19937 random(1);
  random_gradients(store.gradients(), random);
  std::vector<float> masters(store.values().size());
  model::initialise(config, 1, masters);
  const auto total = static_cast<std::int64_t>(masters.size());
  OptimiserOptions options;
  options.lr = lr;
  options.lr_decay_style = DecayStyle::constant;
  weights::ChangeLog changes(TransferType::bf16, {0, total});
  WeightUpdater updater(options, 1000, TransferType::bf16, store, masters, &changes);
  AdamW alone(options, total, {{0, total, Decay::yes}});
  std::vector<double> two_passes, unnoted, noted;
  double density = 0;
  for (int round = -1; round < rounds; ++round) {
    random_gradients(store.gradients().first(1 << 20), random);
    const double apart_s = two_passes_s(alone, store, masters, lr);
    const auto step_s = [&] {
      const double begin = processor_s();
      updater.update(1.0);
      return processor_s() - begin;
    };
    changes.close();
    const double unnoted_s = step_s();
    changes.open();
    const double noted_s = step_s();
    density = changes.density(store.values());
    if (round < 0) continue;  // the first touch of everything
    two_passes.push_back(apart_s);
    unnoted.push_back(unnoted_s);
    noted.push_back(noted_s);
  }
  std::printf("two_passes_ms %.1f\nunnoted_ms %.1f\nnoted_ms %.1f\nchanged_percent %.2f\n",
              median_ms(two_passes), median_ms(unnoted), median_ms(noted), 100 * density);
}

}  // namespace
}  // namespace physarum::training

int main(int argc, char** argv) {
  const char* rounds = std::getenv("ROUNDS");
  physarum::training::run(argc > 1 ? std::atof(argv[1]) : 1e-6,
                          rounds == nullptr ? 5 : std::max(1, std::atoi(rounds)));
}
