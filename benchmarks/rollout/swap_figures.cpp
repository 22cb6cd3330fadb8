// swap_figures MODEL [VERSIONS]: how long decoding stands still for new weights. MODEL: a Hugging
// Face directory, of which config.json is read. Prints, for images of each transfer type, median
// and 99th percentile of the swap, and of the copying of so many bytes alone, in ms.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "physarum/base/deadline.hpp"

#include "physarum/model/hf_directory.hpp"
#include "physarum/model/parameter_store.hpp"

#include "physarum/rollout/decode_engine.hpp"

namespace {

using namespace physarum;

double percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

void measure(const model::ModelConfig& config, weights::TransferType type, const char* name,
             int versions) {
  rollout::DecodeEngine engine(config, {.context_tokens = 256, .sequences = 8}, 1);
  weights::Image image(weights::make_catalogue(model::tensor_specs(config), type));
  std::vector<std::byte> copy(image.bytes().size());
  std::vector<double> swap_s, copy_s;
  for (int version = -1; version < versions; ++version) {
    image.set_version(base::WeightVersion(version + 1));
    const base::Stopwatch swap;
    engine.set_weights(image, rollout::PauseGenerationMode::retract);
    const double swapped = swap.seconds();
    const base::Stopwatch plain;
    std::memcpy(copy.data(), image.bytes().data(), copy.size());
    if (version < 0) continue;  // the first touch of everything
    swap_s.push_back(swapped);
    copy_s.push_back(plain.seconds());
  }
  std::printf("swap_%s_median_ms %.3f\nswap_%s_p99_ms %.3f\ncopy_%s_median_ms %.3f\n", name,
              1e3 * percentile(swap_s, 0.5), name, 1e3 * percentile(swap_s, 0.99), name,
              1e3 * percentile(copy_s, 0.5));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: swap_figures MODEL [VERSIONS]\n");
    return 2;
  }
  const auto config = model::read_hf_config(argv[1]);
  const int versions = argc > 2 ? std::max(1, std::atoi(argv[2])) : 200;
  measure(config, weights::TransferType::bf16, "bf16", versions);
  measure(config, weights::TransferType::f32, "f32", versions);
  return 0;
}
