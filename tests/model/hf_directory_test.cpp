#include "physarum/model/hf_directory.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "physarum/model/parameter_store.hpp"

#include "expect_user_error.hpp"
#include "small_models.hpp"
#include "temporary_directory.hpp"

namespace physarum::model {
namespace {

using Path = std::filesystem::path;

std::vector<float> random_weights(const ModelConfig& config) {
  ParameterStore store(config, Gradients::none);
  randomise(config, 3, store);
  return {store.values().begin(), store.values().end()};
}

std::vector<float> load(const Path& directory, const ModelConfig& config) {
  std::vector<float> flat(static_cast<std::size_t>(ParameterLayout(config).total()), 7.0F);
  load_weights(directory, config, flat);
  return flat;
}

/// Writes tensors [first, last) of the layout to one file.
void write_shard(const Path& path, const ModelConfig& config, const std::vector<float>& flat,
                 std::size_t first, std::size_t last) {
  const ParameterLayout layout(config);
  std::vector<TensorView> views;
  for (std::size_t i = first; i < std::min(last, layout.tensors().size()); ++i) {
    const auto& place = layout.tensors()[i];
    views.push_back({place.name, place.shape,
                     std::span(flat).subspan(static_cast<std::size_t>(place.offset),
                                             static_cast<std::size_t>(place.size))});
  }
  write_safetensors(storage::real_file_system(), path, views, ElementType::f32);
}

TEST(HfDirectory, loads_what_it_saved) {
  for (const auto& config : {small_config(), odd_config()}) {
    const TemporaryDirectory directory;
    const auto flat = random_weights(config);
    save_hf(storage::real_file_system(), directory.path() / "deep" / "model", config, flat);
    const auto read = ModelConfig::from_file(directory.path() / "deep/model/config.json");
    EXPECT_EQ(read, config);
    EXPECT_EQ(load(directory.path() / "deep/model", config), flat);
  }
}

TEST(HfDirectory, keeps_what_transformers_wrote) {
  const Path golden = Path(PHYSARUM_TEST_DATA) / "qwen2_tied";
  const auto config = ModelConfig::from_file(golden / "config.json");
  const TemporaryDirectory directory;
  const auto flat = load(golden, config);
  save_hf(storage::real_file_system(), directory.path(), config, flat);
  EXPECT_EQ(load(directory.path(), ModelConfig::from_file(directory.path() / "config.json")), flat);
}

TEST(HfDirectory, copies_tokenizer_files) {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory.path() / "from");
  directory.write("from/tokenizer.json", "{\"a\": 1}");
  directory.write("from/stranger.bin", "x");
  const auto config = small_config();
  save_hf(storage::real_file_system(), directory.path() / "to", config, random_weights(config),
          directory.path() / "from");
  EXPECT_EQ(storage::real_file_system().read_file(directory.path() / "to/tokenizer.json"),
            "{\"a\": 1}");
  EXPECT_FALSE(std::filesystem::exists(directory.path() / "to/stranger.bin"));
}

TEST(HfDirectory, reads_shards_by_their_index) {
  const auto config = small_config();
  const auto flat = random_weights(config);
  const TemporaryDirectory directory;
  write_shard(directory.path() / "a.safetensors", config, flat, 0, 9);
  write_shard(directory.path() / "b.safetensors", config, flat, 9, 1000);
  directory.write(
      "model.safetensors.index.json",
      R"({"metadata": {}, "weight_map": {"x": "a.safetensors", "y": "b.safetensors"}})");
  EXPECT_EQ(load(directory.path(), config), flat);
}

TEST(HfDirectory, refuses_a_tensor_in_two_shards) {
  const auto config = small_config();
  const TemporaryDirectory directory;
  write_shard(directory.path() / "a.safetensors", config, random_weights(config), 0, 9);
  write_shard(directory.path() / "b.safetensors", config, random_weights(config), 8, 1000);
  directory.write("model.safetensors.index.json",
                  R"({"weight_map": {"x": "a.safetensors", "y": "b.safetensors"}})");
  expect_user_error([&] { (void)load(directory.path(), config); }, "two shards");
}

TEST(HfDirectory, refuses_shards_outside_its_directory) {
  const TemporaryDirectory directory;
  for (const char* shard : {"../a.safetensors", "/a.safetensors", "..", "", "b/a.safetensors"}) {
    directory.write("model.safetensors.index.json",
                    std::string(R"({"weight_map": {"x": ")") + shard + "\"}}");
    expect_user_error([&] { (void)load(directory.path(), small_config()); }, "a shard is");
  }
}

TEST(HfDirectory, names_missing_tensors) {
  const auto config = small_config();
  const TemporaryDirectory directory;
  const auto flat = random_weights(config);
  write_shard(directory.path() / "model.safetensors", config, flat, 0, 25);
  expect_user_error([&] { (void)load(directory.path(), config); }, "model.norm.weight");
  write_shard(directory.path() / "model.safetensors", config, flat, 0, 3);
  expect_user_error([&] { (void)load(directory.path(), config); }, "and 18 more");
}

TEST(HfDirectory, names_tensors_of_another_shape_and_strangers) {
  auto config = small_config();
  const TemporaryDirectory directory;
  save_hf(storage::real_file_system(), directory.path(), config, random_weights(config));
  config.intermediate_size = 72;
  expect_user_error([&] { (void)load(directory.path(), config); }, "gate_proj");
  config = small_config();
  config.num_hidden_layers = 1;
  expect_user_error([&] { (void)load(directory.path(), config); }, "model.layers.1.");
}

TEST(HfDirectory, ignores_the_head_of_a_tied_model) {
  auto untied = small_config();
  untied.tie_word_embeddings = false;
  const TemporaryDirectory directory;
  const auto flat = random_weights(untied);
  save_hf(storage::real_file_system(), directory.path(), untied, flat);
  const auto tied = load(directory.path(), small_config());
  EXPECT_TRUE(std::equal(tied.begin(), tied.end(), flat.begin()));
}

TEST(HfDirectory, says_which_directory_has_no_weights) {
  const TemporaryDirectory directory;
  expect_user_error([&] { (void)load(directory.path(), small_config()); }, "model.safetensors");
}

TEST(HfDirectory, says_which_directory_cannot_be_made) {
  const TemporaryDirectory directory;
  const auto file = directory.write("file", "x");
  const auto config = small_config();
  expect_user_error(
      [&] { save_hf(storage::real_file_system(), file / "model", config, random_weights(config)); },
      "file");
}

}  // namespace
}  // namespace physarum::model
