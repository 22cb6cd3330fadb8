// How long a rank takes to have a model's weights, and how much memory. One run is one process, so
// that the peak is its own.
//
//   load_figures MODEL      MODEL: a Hugging Face directory
#include <chrono>
#include <cstdio>
#include <filesystem>

#include <sys/resource.h>

#include "physarum/model/hf_directory.hpp"
#include "physarum/model/parameter_store.hpp"

int main(int count, char** arguments) {
  namespace model = physarum::model;
  if (count != 2) {
    std::fprintf(stderr, "usage: %s MODEL\n", arguments[0]);
    return 2;
  }
  const std::filesystem::path directory = arguments[1];
  const auto begin = std::chrono::steady_clock::now();
  const auto config = model::read_hf_config(directory);
  model::ParameterStore store(config, model::Gradients::none);
  model::load_weights(directory, config, store.values());
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const double needed = static_cast<double>(store.values().size_bytes());
  const double peak = static_cast<double>(usage.ru_maxrss) * 1024;
  std::printf("figure load_seconds %.3f s goal <= 2\n", seconds.count());
  std::printf("figure peak_memory_ratio %.3f times goal <= 1.2\n", peak / needed);
  std::printf("needed_bytes %.0f peak_bytes %.0f\n", needed, peak);
  return 0;
}
