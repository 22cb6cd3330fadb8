// Answers in cache memory of every size.

#include <gtest/gtest.h>

#include "physarum/rollout/decode_engine.hpp"

#include "rollout/engine_fixture.hpp"

namespace physarum::rollout {
namespace {

class EngineMemory : public Engine {};

TEST_F(EngineMemory, an_answer_has_the_same_bits_when_memory_is_short) {
  const auto requests = requests_of(10, 3);
  auto limits = small_limits();
  limits.kv_cache_bytes = 11 * 16 * (8 + 8) * 2 * 2 * 4;  // eleven blocks
  auto engine = make_engine(limits);
  for (const auto& request : requests) engine.add(request);
  Answers answers;
  bool was_full = false;
  while (engine.unfinished() > 0) {
    collect(engine, answers);
    was_full = was_full || engine.free_sequences() == 0;
  }
  EXPECT_TRUE(was_full);
  EXPECT_GT(engine.statistics().preemptions, 0);
  EXPECT_EQ(engine.free_sequences(), limits.sequences);
  expect_same(answers, alone(requests));
}

/// Memory of any size from the smallest on, few or many sequences at a time, short and long
/// prompts, new weights on the way: everybody comes to an end with its own bits.
TEST_F(EngineMemory, an_answer_has_the_same_bits_in_memory_of_every_size) {
  const auto requests = requests_of(7, 3);
  const auto expected = alone(requests);
  for (std::int64_t blocks = 9; blocks < 40; blocks += blocks < 16 ? 1 : 6) {
    for (const std::int64_t sequences : {1, 4, 64}) {
      auto limits = small_limits();
      limits.kv_cache_bytes = blocks * 16 * (8 + 8) * 2 * 2 * 4;
      limits.sequences = sequences;
      limits.prefill_tokens = 20;
      auto engine = make_engine(limits);
      for (const auto& request : requests) engine.add(request);
      Answers answers;
      for (int step = 0; engine.unfinished() > 0; ++step) {
        ASSERT_LT(step, 20000) << blocks << " blocks, " << sequences << " sequences";
        collect(engine, answers);
        if (step % 50 == 20) engine.set_weights(image_, PauseGenerationMode::retract);
      }
      expect_same(answers, expected);
    }
  }
}

/// Answers that may become long, but do not: what counts is what they take.
TEST_F(EngineMemory, memory_is_taken_as_answers_grow) {
  auto limits = small_limits();
  limits.kv_cache_bytes = 40 * 16 * (8 + 8) * 2 * 2 * 4;  // five times the longest sequence
  auto sampling = sampling_of(100);
  std::vector<GenerateRequest> requests;
  for (std::int64_t i = 0; i < 16; ++i) {
    requests.push_back({.prompt = random_prompt(20, static_cast<std::uint64_t>(i)),
                        .first_sample = base::SampleId(100 * i),
                        .n_samples = 1,
                        .sampling = sampling});
  }
  auto engine = make_engine(limits);
  for (const auto& request : requests) engine.add(request);
  const auto answers = run_to_end(engine);
  EXPECT_GT(engine.statistics().most_running, 5);
  expect_same(answers, alone(requests));
}

}  // namespace
}  // namespace physarum::rollout
