#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "physarum/base/error.hpp"

#include "physarum/parallel/agree.hpp"

#include "physarum/model/hf_directory.hpp"
#include "physarum/model/parameter_store.hpp"

#include "small_models.hpp"
#include "support/mpi_test.hpp"
#include "support/shared_directory.hpp"

namespace physarum::model {
namespace {

using test::world;

std::vector<float> random_weights(const ModelConfig& config) {
  ParameterStore store(config, Gradients::none);
  randomise(config, 3, store);
  return {store.values().begin(), store.values().end()};
}

TEST(LoadTogether, gives_every_rank_all_weights) {
  for (const auto& config : {small_config(), odd_config()}) {
    const test::SharedDirectory directory(world());
    const auto flat = random_weights(config);
    parallel::together(world(), [&] {
      if (world().rank() != 0) return;
      save_hf(storage::real_file_system(), directory.path(), config, flat, {},
              {.max_shard_bytes = 20'000});
    });
    std::vector<float> loaded(flat.size(), 7.0F);
    load_weights(directory.path(), config, world(), loaded);
    EXPECT_EQ(loaded, flat);
  }
}

TEST(LoadTogether, fails_on_all_ranks_if_one_cannot_read) {
  const test::SharedDirectory directory(world());
  const auto config = small_config();
  parallel::together(world(), [&] {
    if (world().rank() != 0) return;
    save_hf(storage::real_file_system(), directory.path(), config, random_weights(config));
  });
  // The last rank looks elsewhere.
  const bool last = world().rank() == world().size() - 1;
  const auto path = last ? directory / "none" : directory.path();
  std::vector<float> loaded(static_cast<std::size_t>(ParameterLayout(config).total()));
  EXPECT_THROW(load_weights(path, config, world(), loaded), base::UserError);
}

}  // namespace
}  // namespace physarum::model
