// The decode engine alone, without MPI; one run is one process, so that memory is its own. Prints
// JSON objects, one a line. README.md beside this file says what the modes measure.
//
//   engine_figures MODEL decode|batch|prefill|shared|turn|swap|soak [--NAME VALUE]...
#include <cstdio>
#include <map>
#include <string_view>

#include "physarum/base/error.hpp"

#include "engine_modes.hpp"

int main(int count, char** arguments) {
  namespace rollout = physarum::rollout;
  const std::map<std::string_view, void (*)(const rollout::FigureOptions&)> modes{
      {"decode", rollout::measure_decode},   {"batch", rollout::measure_batch},
      {"prefill", rollout::measure_prefill}, {"shared", rollout::measure_shared},
      {"turn", rollout::measure_turn},       {"swap", rollout::measure_swap},
      {"soak", rollout::measure_soak}};
  try {
    const auto options = rollout::read_options(count, arguments);
    const auto mode = modes.find(options.mode);
    if (mode == modes.end()) {
      throw physarum::base::UserError("is no mode", options.mode,
                                      "take decode, batch, prefill, shared, turn, swap or soak");
    }
    mode->second(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}
