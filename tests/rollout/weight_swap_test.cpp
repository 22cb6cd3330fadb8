#include <gtest/gtest.h>

#include "physarum/rollout/decode_engine.hpp"

#include "rollout/engine_fixture.hpp"

namespace physarum::rollout {
namespace {

class WeightSwap : public testing::Test {
 protected:
  WeightSwap() : engine_(config_, small_limits(), 17) {
    engine_.set_weights(old_, PauseGenerationMode::retract);
    for (std::int64_t i = 0; i < 4; ++i) engine_.add(request_of(i, 2, endless()));
  }
  static sample::SamplingOptions endless() {
    auto sampling = sampling_of();
    sampling.stop_token_ids.clear();
    return sampling;
  }
  void steps(int count) {
    for (int i = 0; i < count; ++i) collect(engine_, answers_);
  }
  /// All answers by an engine with these weights only.
  Answers by(const weights::Image& image) {
    DecodeEngine engine(config_, small_limits(), 17);
    engine.set_weights(image, PauseGenerationMode::retract);
    for (std::int64_t i = 0; i < 4; ++i) engine.add(request_of(i, 2, endless()));
    return run_to_end(engine);
  }
  /// What an engine with the new weights draws after `tokens` tokens of this answer.
  base::TokenId next_by_new(std::int64_t index, const Generated& answer, std::size_t tokens) {
    DecodeEngine engine(config_, small_limits(), 17);
    engine.set_weights(new_, PauseGenerationMode::retract);
    auto sampling = endless();
    sampling.temperature = 0;
    sampling.max_response_tokens = 1;
    auto request = request_of(index, 1, sampling);
    request.prompt.insert(request.prompt.end(), answer.response.begin(),
                          answer.response.begin() + static_cast<std::ptrdiff_t>(tokens));
    engine.add(request);
    return run_to_end(engine).begin()->second.response.front();
  }

  model::ModelConfig config_ = small_config();
  weights::Image old_ = random_image(config_, 5, 3);
  weights::Image new_ = random_image(config_, 6, 4);
  DecodeEngine engine_;
  Answers answers_;
};

void expect_runs(const Generated& answer, std::int64_t before) {
  ASSERT_EQ(answer.response.size(), 40U);
  ASSERT_EQ(answer.versions.size(), 2U);
  EXPECT_EQ(answer.versions[0], (sample::VersionRun{base::WeightVersion(3), before}));
  EXPECT_EQ(answer.versions[1], (sample::VersionRun{base::WeightVersion(4), 40 - before}));
}

TEST_F(WeightSwap, in_place_keeps_tokens_and_says_who_drew_them) {
  steps(10);
  engine_.set_weights(new_, PauseGenerationMode::in_place);
  steps(100);
  const auto old = by(old_);
  ASSERT_EQ(answers_.size(), 8U);
  for (const auto& [id, answer] : answers_) {
    expect_runs(answer, 10);
    const auto& expected = old.at(id).response;
    EXPECT_TRUE(std::equal(expected.begin(), expected.begin() + 10, answer.response.begin()));
  }
  // Nothing is read again.
  std::int64_t prompts = 0;
  for (std::int64_t i = 0; i < 4; ++i) {
    prompts += static_cast<std::int64_t>(request_of(i, 2).prompt.size());
  }
  EXPECT_EQ(engine_.statistics().prompt_tokens, prompts);
}

TEST_F(WeightSwap, retract_goes_on_as_if_the_new_weights_had_read_everything) {
  // The likeliest token shows what the new weights think of the old ones' text.
  engine_.clear();
  auto sampling = endless();
  sampling.temperature = 0;
  for (std::int64_t i = 0; i < 4; ++i) engine_.add(request_of(i, 1, sampling));
  steps(10);
  engine_.set_weights(new_, PauseGenerationMode::retract);
  steps(100);
  ASSERT_EQ(answers_.size(), 4U);
  for (std::int64_t i = 0; i < 4; ++i) {
    const auto& answer = answers_.at(100 * i);
    expect_runs(answer, 10);
    for (const std::size_t at : {10U, 11U, 25U}) {
      EXPECT_EQ(answer.response[at], next_by_new(i, answer, at)) << "token " << at;
    }
  }
}

TEST_F(WeightSwap, abort_gives_running_answers_back) {
  steps(10);
  engine_.set_weights(new_, PauseGenerationMode::abort);
  EXPECT_EQ(engine_.unfinished(), 0);
  steps(1);
  ASSERT_EQ(answers_.size(), 8U);
  for (const auto& [id, answer] : answers_) {
    EXPECT_EQ(answer.ending, Ending::aborted);
    EXPECT_EQ(answer.response.size(), 10U);
  }
}

TEST_F(WeightSwap, answers_without_tokens_start_with_the_new_weights_in_every_mode) {
  const auto expected = by(new_);
  for (const auto mode :
       {PauseGenerationMode::abort, PauseGenerationMode::retract, PauseGenerationMode::in_place}) {
    auto limits = small_limits();
    limits.prefill_tokens = 3;  // so that one step reads a part of a prompt
    engine_ = DecodeEngine(config_, limits, 17);
    engine_.set_weights(old_, PauseGenerationMode::retract);
    for (std::int64_t i = 0; i < 4; ++i) engine_.add(request_of(i, 2, endless()));
    answers_.clear();
    steps(1);
    engine_.set_weights(new_, mode);
    steps(300);
    ASSERT_EQ(answers_.size(), 8U);
    for (const auto& [id, answer] : answers_) {
      EXPECT_EQ(answer.response, expected.at(id).response);
      EXPECT_EQ(answer.log_probs, expected.at(id).log_probs);
      ASSERT_EQ(answer.versions.size(), 1U);
      EXPECT_EQ(answer.versions[0].version, base::WeightVersion(4));
    }
  }
}

TEST_F(WeightSwap, transfer_type_does_not_matter_when_values_are_the_same) {
  model::ParameterStore store(config_, model::Gradients::none);
  old_.copy_to(store.values());
  weights::Image exact(
      weights::make_catalogue(model::tensor_specs(config_), weights::TransferType::f32));
  exact.assign(store.values());
  exact.set_version(base::WeightVersion(3));
  const auto a = by(old_);
  const auto b = by(exact);
  for (const auto& [id, answer] : a) EXPECT_EQ(answer.log_probs, b.at(id).log_probs);
}

}  // namespace
}  // namespace physarum::rollout
