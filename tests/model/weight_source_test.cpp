#include "physarum/model/weight_source.hpp"

#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"

#include "physarum/model/hf_directory.hpp"
#include "physarum/model/parameter_store.hpp"

#include "expect_user_error.hpp"
#include "small_models.hpp"
#include "temporary_directory.hpp"

namespace physarum::model {
namespace {

std::vector<float> random_weights(const ModelConfig& config) {
  ParameterStore store(config, Gradients::none);
  randomise(config, 3, store);
  return {store.values().begin(), store.values().end()};
}

TEST(WeightSource, finds_and_reads_ranges_of_a_flat_buffer) {
  const auto config = small_config();
  const ParameterLayout layout(config);
  const auto flat = random_weights(config);
  const auto source = view_weights(layout, flat);
  EXPECT_EQ(source->find("none"), -1);
  for (const auto& place : layout.tensors()) {
    const auto index = source->find(place.name);
    ASSERT_GE(index, 0);
    std::vector<float> part(static_cast<std::size_t>(place.size - place.size / 2));
    source->read(index, place.size / 2, part);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), flat.begin() + place.offset + place.size / 2));
    EXPECT_THROW(source->read(index, place.size / 2 + 1, part), base::ContractViolation);
    EXPECT_THROW(source->read(index, -1, part), base::ContractViolation);
  }
}

TEST(WeightSource, says_what_a_path_is_not) {
  const TemporaryDirectory directory;
  expect_user_error([&] { (void)open_weights(directory.path() / "none"); }, "does not exist");
  expect_user_error([&] { (void)open_weights(directory.write("m.bin", "x")); }, "no known kind");
  expect_user_error([&] { (void)open_weights(directory.path()); }, "neither");
}

TEST(LoadWeights, reads_any_part_of_the_flat_buffer) {
  for (const auto& config : {small_config(), odd_config()}) {
    const TemporaryDirectory directory;
    const auto flat = random_weights(config);
    save_hf(storage::real_file_system(), directory.path(), config, flat);
    const auto source = open_weights(directory.path());
    const auto total = static_cast<std::int64_t>(flat.size());
    const std::int64_t cuts[] = {0, 1, 31, 33, 1000, total / 2, total - 40, total - 1, total};
    for (const auto begin : cuts) {
      for (const auto end : cuts) {
        if (begin > end) continue;
        std::vector<float> part(static_cast<std::size_t>(end - begin), 7.0F);
        load_weights(*source, config, {begin, end}, part);
        EXPECT_TRUE(std::equal(part.begin(), part.end(), flat.begin() + begin))
            << begin << " " << end;
      }
    }
  }
}

TEST(LoadWeights, checks_all_tensors_even_for_a_part) {
  auto config = small_config();
  const TemporaryDirectory directory;
  save_hf(storage::real_file_system(), directory.path(), config, random_weights(config));
  const auto source = open_weights(directory.path());
  config.num_hidden_layers = 3;
  std::vector<float> part(10);
  expect_user_error([&] { load_weights(*source, config, {0, 10}, part); }, "model.layers.2.");
}

std::size_t resident_kilobytes(const char* kind) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(kind)) return std::stoul(line.substr(std::string(kind).size()));
  }
  return 0;
}

TEST(LoadWeights, keeps_nothing_of_the_file_in_memory) {
  auto config = small_config();
  config.vocab_size = 200'000;
  const TemporaryDirectory directory;
  std::vector<float> flat(static_cast<std::size_t>(ParameterLayout(config).total()), 0.5F);
  save_hf(storage::real_file_system(), directory.path(), config, flat);
  const auto before = resident_kilobytes("RssFile:");
  const auto source = open_weights(directory.path());
  load_weights(*source, config, {0, static_cast<std::int64_t>(flat.size())}, flat);
  // The file has 25 MB.
  EXPECT_LT(resident_kilobytes("RssFile:"), before + 5000);
}

}  // namespace
}  // namespace physarum::model
