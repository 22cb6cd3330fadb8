#include "physarum/model/hf_directory.hpp"

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

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

/// Two shards, and the index of a Python program that cut the tensors there.
struct Shards {
  ModelConfig config = small_config();
  std::vector<float> flat = random_weights(config);
  TemporaryDirectory directory;
  std::size_t cut = 9;

  Shards() { write(); }
  void write() {
    write_shard(directory.path() / "a.safetensors", config, flat, 0, cut);
    write_shard(directory.path() / "b.safetensors", config, flat, cut, 1000);
    write_index(cut);
  }
  void write_index(std::size_t its_cut, const std::string& more = "") {
    const ParameterLayout layout(config);
    std::string map;
    for (std::size_t i = 0; i < layout.tensors().size(); ++i) {
      map += (map.empty() ? "" : ", ") + ("\"" + layout.tensors()[i].name + "\": \"") +
             (i < its_cut ? "a" : "b") + ".safetensors\"";
    }
    directory.write("model.safetensors.index.json",
                    R"({"metadata": {}, "weight_map": {)" + map + more + "}}");
  }
};

TEST(HfDirectory, reads_shards_by_their_index) {
  const Shards shards;
  EXPECT_EQ(load(shards.directory.path(), shards.config), shards.flat);
}

TEST(HfDirectory, refuses_a_shard_that_holds_what_the_index_puts_elsewhere) {
  Shards shards;
  shards.write_index(8);
  expect_user_error([&] { (void)load(shards.directory.path(), shards.config); },
                    "shard 'a.safetensors' holds tensors that the index does not put there");
  write_shard(shards.directory.path() / "b.safetensors", shards.config, shards.flat, 8, 1000);
  shards.write_index(9);
  expect_user_error([&] { (void)load(shards.directory.path(), shards.config); },
                    "shard 'b.safetensors' holds tensors that the index does not put there");
}

TEST(HfDirectory, names_tensors_that_a_shard_lacks) {
  Shards shards;
  shards.write_index(9, R"(, "model.more.weight": "b.safetensors")");
  expect_user_error([&] { (void)load(shards.directory.path(), shards.config); },
                    "shard 'b.safetensors' lacks tensors: model.more.weight");
}

TEST(HfDirectory, names_a_shard_that_is_missing) {
  Shards shards;
  std::filesystem::remove(shards.directory.path() / "b.safetensors");
  expect_user_error([&] { (void)load(shards.directory.path(), shards.config); },
                    "names shard 'b.safetensors', which is not there");
}

TEST(HfDirectory, refuses_a_damaged_index) {
  const TemporaryDirectory directory;
  for (const char* text :
       {"", "[]", "{}", R"({"weight_map": []})", R"({"weight_map": {"a": 1}})",
        R"({"weight_map": {"a": "x", "a": "y"}})", "{\"weight_map\": {\"\xff\": 1}}"}) {
    directory.write("model.safetensors.index.json", text);
    expect_user_error([&] { (void)load(directory.path(), small_config()); },
                      "model.safetensors.index.json");
  }
}

std::vector<std::string> names_in(const Path& directory) {
  return storage::real_file_system().list(directory);
}

TEST(HfDirectory, writes_shards_that_are_not_larger_than_asked) {
  const auto config = small_config();
  const auto flat = random_weights(config);
  const TemporaryDirectory directory;
  const std::int64_t most = 20'000;
  save_hf(storage::real_file_system(), directory.path(), config, flat, {},
          {.max_shard_bytes = most});
  EXPECT_EQ(load(directory.path(), config), flat);
  std::size_t shards = 0;
  for (const auto& name : names_in(directory.path())) {
    if (!name.ends_with(".safetensors")) continue;
    ++shards;
    const SafetensorsFile file(directory.path() / name);
    const auto bytes = file.header().tensors.back().end;
    EXPECT_TRUE(bytes <= static_cast<std::uint64_t>(most) || file.header().tensors.size() == 1)
        << name;
  }
  EXPECT_GT(shards, 2U);
  const auto config_json = nlohmann::json::parse(std::ifstream(directory.path() / "config.json"));
  EXPECT_EQ(config_json.at("torch_dtype"), "float32");
  // One file over shards, and shards over one file: what was there before is not found again.
  auto other = flat;
  other.front() += 1;
  save_hf(storage::real_file_system(), directory.path(), config, other);
  EXPECT_EQ(load(directory.path(), config), other);
  save_hf(storage::real_file_system(), directory.path(), config, flat, {},
          {.max_shard_bytes = most});
  EXPECT_EQ(load(directory.path(), config), flat);
}

TEST(HfDirectory, says_in_which_type_it_wrote) {
  const auto config = small_config();
  const TemporaryDirectory directory;
  save_hf(storage::real_file_system(), directory.path(), config, random_weights(config), {},
          {.type = ElementType::bf16});
  const auto json = nlohmann::json::parse(std::ifstream(directory.path() / "config.json"));
  EXPECT_EQ(json.at("torch_dtype"), "bfloat16");
}

TEST(HfConfig, takes_end_tokens_from_the_generation_config) {
  auto config = small_config();
  config.eos_token_ids = {3};
  const TemporaryDirectory directory;
  directory.write("config.json", config.to_json());
  const auto ends = [&](const char* generation) {
    directory.write("generation_config.json", generation);
    return read_hf_config(directory.path()).eos_token_ids;
  };
  EXPECT_EQ(read_hf_config(directory.path()).eos_token_ids, (std::vector<base::TokenId>{3}));
  EXPECT_EQ(ends(R"({"eos_token_id": [5, 7]})"), (std::vector<base::TokenId>{5, 7}));
  EXPECT_EQ(ends(R"({"eos_token_id": 6, "temperature": 0.5})"), (std::vector<base::TokenId>{6}));
  EXPECT_EQ(ends(R"({"temperature": 0.5})"), (std::vector<base::TokenId>{3}));
  EXPECT_EQ(ends(R"({"eos_token_id": null})"), (std::vector<base::TokenId>{3}));
  for (const char* bad : {R"({"eos_token_id": "x"})", R"({"eos_token_id": 40})", "[]", "{"}) {
    expect_user_error([&] { (void)ends(bad); }, "generation_config.json");
  }
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
