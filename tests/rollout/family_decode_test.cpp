#include "physarum/model/transformer.hpp"

#include "physarum/rollout/decode_engine.hpp"

#include "model/family_golden.hpp"
#include "rollout/sequence_blocks.hpp"

namespace physarum::rollout {
namespace {

class FamilyDecode : public testing::TestWithParam<const char*> {
 protected:
  FamilyDecode()
      : image_(image_of(golden_.config(), golden_.store(model::Gradients::none))),
        weights_(golden_.config()) {
    weights_.load(image_);
  }
  model::FamilyGolden golden_{GetParam()};
  weights::Image image_;
  EngineWeights weights_;
};

TEST_P(FamilyDecode, reading_a_prompt_at_once_agrees_with_transformers) {
  for (const std::int64_t length : {1, 7, 64, 1500}) {
    golden_.expect_logits(
        length, decode_in_steps(golden_.config(), weights_, golden_.prompt(length), length));
  }
}

TEST_P(FamilyDecode, step_by_step_agrees_with_transformers) {
  for (const std::int64_t length : {1, 7, 64, 1500}) {
    golden_.expect_logits(length,
                          decode_in_steps(golden_.config(), weights_, golden_.prompt(length), 1));
  }
}

TEST_P(FamilyDecode, has_the_same_bits_however_a_prompt_is_cut) {
  const auto prompt = golden_.prompt(64);
  const auto at_once = decode_in_steps(golden_.config(), weights_, prompt, 64);
  for (const std::int64_t step : {1, 5, 33}) {
    EXPECT_EQ(decode_in_steps(golden_.config(), weights_, prompt, step), at_once) << step;
  }
}

TEST_P(FamilyDecode, has_the_bits_of_the_trainer) {
  auto store = golden_.store(model::Gradients::none);
  model::Transformer trainer(golden_.config(), store);
  for (const std::int64_t length : {1, 7, 64, 1500}) {
    const auto prompt = golden_.prompt(length);
    model::PackedBatch batch;
    batch.append(prompt, length);
    EXPECT_EQ(decode_in_steps(golden_.config(), weights_, prompt, 64), trainer.logits(batch))
        << length;
  }
}

TEST_P(FamilyDecode, greedy_answers_are_those_of_transformers) {
  DecodeEngine engine(golden_.config(), {.context_tokens = 512, .prefill_tokens = 64}, 1);
  engine.set_weights(image_, PauseGenerationMode::retract);
  sample::SamplingOptions sampling;
  sampling.temperature = 0;
  sampling.max_response_tokens = 200;
  sampling.max_context_tokens = 512;
  // Others in the batch must not matter.
  engine.add({.prompt = golden_.prompt(64),
              .first_sample = base::SampleId(0),
              .n_samples = 3,
              .sampling = sampling});
  engine.add({.prompt = golden_.prompt(7),
              .first_sample = base::SampleId(100),
              .n_samples = 1,
              .sampling = sampling});
  std::vector<base::TokenId> response;
  while (engine.unfinished() > 0) {
    for (const auto& answer : engine.step()) {
      if (answer.id == base::SampleId(100)) response = answer.response;
    }
  }
  EXPECT_EQ(response, golden_.tokens("greedy"));
}

INSTANTIATE_TEST_SUITE_P(Models, FamilyDecode, testing::ValuesIn(model::family_models),
                         [](const auto& case_) { return std::string(case_.param); });

}  // namespace
}  // namespace physarum::rollout
