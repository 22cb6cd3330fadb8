#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "physarum/base/hash.hpp"

#include "physarum/model/parameter_store.hpp"

#include "small_models.hpp"

namespace physarum::model {
namespace {

TEST(Initialise, sets_norms_to_one_and_biases_to_zero) {
  const auto config = odd_config();
  ParameterStore store(config, Gradients::none);
  initialise(config, 1, store.values());
  const auto value_of = [&](const char* name) { return store.values(store.layout().find(name)); };
  EXPECT_TRUE(std::ranges::all_of(value_of("model.layers.1.input_layernorm.weight"),
                                  [](float v) { return v == 1.0F; }));
  EXPECT_TRUE(
      std::ranges::all_of(value_of("model.norm.weight"), [](float v) { return v == 1.0F; }));
  EXPECT_TRUE(std::ranges::all_of(value_of("model.layers.0.self_attn.k_proj.bias"),
                                  [](float v) { return v == 0.0F; }));
}

TEST(Initialise, draws_matrices_with_the_range_of_the_configuration) {
  const auto config = small_config();
  ParameterStore store(config, Gradients::none);
  initialise(config, 1, store.values());
  for (std::size_t i = 0; i < store.layout().tensors().size(); ++i) {
    if (store.layout().tensors()[i].shape.size() == 1) continue;
    const auto values = store.values(static_cast<std::int64_t>(i));
    double sum = 0;
    double squares = 0;
    for (const double v : values) {
      sum += v;
      squares += v * v;
    }
    const auto count = static_cast<double>(values.size());
    EXPECT_NEAR(sum / count, 0.0, 5 * 0.2 / std::sqrt(count));
    EXPECT_NEAR(std::sqrt(squares / count), 0.2, 5 * 0.2 / std::sqrt(2 * count));
  }
}

TEST(Initialise, is_a_function_of_configuration_and_seed) {
  const auto config = small_config();
  const auto digest = [&](std::uint64_t seed) {
    ParameterStore store(config, Gradients::none);
    initialise(config, seed, store.values());
    return base::digest128(std::as_bytes(std::as_const(store).values()));
  };
  EXPECT_EQ(digest(7), digest(7));
  EXPECT_NE(digest(7), digest(8));
}

TEST(Initialise, gives_no_two_tensors_the_same_values) {
  const auto config = small_config();
  ParameterStore store(config, Gradients::none);
  initialise(config, 1, store.values());
  const auto gate = store.values(store.layout().find("model.layers.0.mlp.gate_proj.weight"));
  const auto up = store.values(store.layout().find("model.layers.0.mlp.up_proj.weight"));
  EXPECT_FALSE(std::ranges::equal(gate, up));
}

}  // namespace
}  // namespace physarum::model
