#include "model/family_golden.hpp"

#include "physarum/model/transformer.hpp"

#include "temporary_directory.hpp"
#include "vector_norms.hpp"

namespace physarum::model {
namespace {

class Families : public testing::TestWithParam<const char*> {
 protected:
  FamilyGolden golden_{GetParam()};
};
/// Those with experts.
class ExpertFamilies : public Families {};

/// Every parameter's gradient against `prefix` + its name, or against zero.
void expect_gradients(FamilyGolden& golden, ParameterStore& store, const std::string& prefix) {
  const double whole = norm(store.gradients());
  ASSERT_GT(whole, 0);
  for (std::size_t i = 0; i < store.layout().tensors().size(); ++i) {
    const auto& place = store.layout().tensors()[i];
    const auto gradient = store.gradients(static_cast<std::int64_t>(i));
    const std::vector<float> expected = golden.has(prefix + place.name)
                                            ? golden.read(prefix + place.name)
                                            : std::vector<float>(gradient.size(), 0.0F);
    ASSERT_EQ(gradient.size(), expected.size()) << place.name;
    // A key's bias shifts all scores of a query alike: its true gradient is zero, and both sides
    // hold rounding errors. So the scale is that of the whole gradient, if a tensor's is tiny.
    const double scale = std::max(norm(expected), 1e-3 * whole);
    EXPECT_LE(distance(gradient, expected), 1e-4 * scale) << prefix << place.name;
  }
}

TEST_P(Families, logits_agree_with_transformers) {
  auto store = golden_.store(Gradients::none);
  Transformer transformer(golden_.config(), store);
  for (const std::int64_t length : {1, 7, 64, 1500}) {
    PackedBatch batch;
    batch.append(golden_.prompt(length), 1);
    golden_.expect_logits(length, transformer.logits(batch));
  }
}

TEST_P(Families, gradients_agree_with_automatic_ones) {
  auto store = golden_.store(Gradients::allocate);
  Transformer transformer(golden_.config(), store);
  const auto batch = golden_.short_prompts();
  const auto scores = transformer.forward(batch, {.keep = Keep::for_backward});
  const auto expected = golden_.read("log_probs");
  ASSERT_EQ(scores.log_probs.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(scores.log_probs[i], expected[i], 1e-4);
  }
  transformer.backward(
      std::vector<float>(expected.size(), 1.0F / static_cast<float>(expected.size())));
  expect_gradients(golden_, store, "grad.");
}

TEST_P(ExpertFamilies, load_balancing_losses_agree_with_transformers) {
  auto store = golden_.store(Gradients::allocate);
  Transformer transformer(golden_.config(), store);
  const auto batch = golden_.short_prompts();
  const auto scores =
      transformer.forward(batch, {.keep = Keep::for_backward, .balancing = LoadBalancing::compute});
  const auto expected = golden_.read("balance_losses");
  ASSERT_EQ(scores.balance_losses.size(), expected.size());
  for (std::size_t s = 0; s < expected.size(); ++s) {
    EXPECT_NEAR(scores.balance_losses[s], expected[s], 1e-5 * expected[s]);
  }
  transformer.backward(std::vector<float>(scores.log_probs.size(), 0.0F), {},
                       golden_.read("balance_factors"));
  expect_gradients(golden_, store, "balance_grad.");
}

/// The last layer works on all tokens for the balance, else on the scored ones only.
TEST_P(ExpertFamilies, load_balancing_changes_neither_scores_nor_their_gradients) {
  auto store = golden_.store(Gradients::allocate);
  Transformer transformer(golden_.config(), store);
  auto batch = golden_.short_prompts();
  batch.targets.erase(batch.targets.begin(), batch.targets.begin() + 9);
  const std::vector<float> d_log_probs(batch.targets.size(), 0.1F);
  std::vector<std::vector<float>> log_probs;
  std::vector<std::vector<float>> gradients;
  for (const auto balancing : {LoadBalancing::skip, LoadBalancing::compute}) {
    store.zero_gradients();
    const auto scores =
        transformer.forward(batch, {.keep = Keep::for_backward, .balancing = balancing});
    log_probs.emplace_back(scores.log_probs.begin(), scores.log_probs.end());
    transformer.backward(d_log_probs);
    gradients.emplace_back(store.gradients().begin(), store.gradients().end());
  }
  EXPECT_EQ(log_probs[0], log_probs[1]);
  EXPECT_LE(distance(gradients[0], gradients[1]), 1e-6 * norm(gradients[0]));
}

TEST_P(Families, a_sequence_has_the_same_bits_in_every_batch) {
  auto store = golden_.store(Gradients::none);
  Transformer transformer(golden_.config(), store);
  const auto together = transformer.logits(golden_.short_prompts());
  std::vector<float> alone;
  for (const auto length : FamilyGolden::short_lengths) {
    PackedBatch one;
    one.append(golden_.prompt(length), 1);
    const auto logits = transformer.logits(one);
    alone.insert(alone.end(), logits.begin(), logits.end());
  }
  EXPECT_EQ(together, alone);
}

TEST_P(Families, are_kept_by_saving_and_loading) {
  const TemporaryDirectory directory;
  const auto store = golden_.store(Gradients::none);
  save_hf(storage::real_file_system(), directory.path(), golden_.config(), store.values());
  const auto config = ModelConfig::from_file(directory.path() / "config.json");
  EXPECT_EQ(config, golden_.config());
  ParameterStore again(config, Gradients::none);
  load_weights(directory.path(), config, again.values());
  EXPECT_TRUE(std::ranges::equal(again.values(), store.values()));
}

TEST_P(Families, count_the_parameters_of_their_layout) {
  std::int64_t count = 0;
  for (const auto& spec : tensor_specs(golden_.config())) {
    std::int64_t size = 1;
    for (const auto extent : spec.shape) size *= extent;
    count += size;
  }
  EXPECT_EQ(count, golden_.config().parameter_count());
}

INSTANTIATE_TEST_SUITE_P(Models, Families, testing::ValuesIn(family_models),
                         [](const auto& case_) { return std::string(case_.param); });

INSTANTIATE_TEST_SUITE_P(Models, ExpertFamilies, testing::ValuesIn(expert_family_models),
                         [](const auto& case_) { return std::string(case_.param); });

}  // namespace
}  // namespace physarum::model
