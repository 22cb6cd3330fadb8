// Answers that are given up, and go on under other weights with the keys and values that they had.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "rollout/engine_fixture.hpp"

namespace physarum::rollout {
namespace {

constexpr std::int64_t block = 16;

class KeptKeys : public Engine {
 protected:
  static GenerateRequest request(std::int64_t prompt_tokens, std::int64_t n_samples,
                                 std::int64_t id = 0) {
    auto sampling = sampling_of(60);
    sampling.stop_token_ids.clear();
    return {.prompt = random_prompt(prompt_tokens, static_cast<std::uint64_t>(id)),
            .first_sample = base::SampleId(id),
            .n_samples = n_samples,
            .sampling = sampling};
  }
  static void steps(DecodeEngine& engine, int count) {
    for (int i = 0; i < count; ++i) EXPECT_TRUE(engine.step().empty());
  }
  static GenerateRequest given_up(DecodeEngine& engine, GenerateRequest one) {
    one.begun = engine.give_up(one.first_sample, one.n_samples);
    std::ranges::sort(one.begun, {}, &Generated::id);
    EXPECT_EQ(std::ssize(one.begun), one.n_samples);
    return one;
  }
  /// Begun by an engine of the first weights, as many tokens as fill a block, and given up.
  static GenerateRequest begun_in(DecodeEngine& engine, const GenerateRequest& one) {
    engine.add(one);
    steps(engine, block + 1);
    return given_up(engine, one);
  }
  weights::Image next_ = random_image(config_, 6, 4);
  weights::Image last_ = random_image(config_, 7, 5);
};

/// Everything is in full blocks: nothing is read again, so being given up changes no bit.
TEST_F(KeptKeys, of_an_answer_that_goes_on_are_those_of_one_that_never_stopped) {
  for (const std::int64_t n_samples : {1, 3}) {
    const auto one = request(2 * block, n_samples);
    auto through = make_engine();
    through.add(one);
    steps(through, block + 1);
    through.set_weights(next_, PauseGenerationMode::in_place);
    const auto expected = run_to_end(through);

    auto engine = make_engine();
    const auto again = begun_in(engine, one);
    engine.set_weights(next_, PauseGenerationMode::in_place);
    const auto read = engine.statistics().prompt_tokens;
    engine.add(again);
    expect_same(run_to_end(engine), expected);
    EXPECT_EQ(engine.statistics().prompt_tokens, read);
  }
}

TEST_F(KeptKeys, are_read_again_from_the_last_full_block_on) {
  for (const std::int64_t prompt_tokens : {5, 16, 20, 31, 33}) {
    for (const int drawn : {3, 14, 30}) {
      const auto one = request(prompt_tokens, 1);
      auto engine = make_engine();
      engine.add(one);
      steps(engine, drawn);
      const auto again = given_up(engine, one);
      engine.set_weights(next_, PauseGenerationMode::in_place);
      const auto read = engine.statistics().prompt_tokens;
      engine.add(again);
      const auto answer = run_to_end(engine).at(0);
      ASSERT_EQ(answer.versions.size(), 2U);
      EXPECT_EQ(answer.versions[0].tokens, drawn);
      // The token that was drawn last had not been read, and the prompt's last block is shared only
      // if it is full. A single token behind is a row of the step like any other.
      const auto known = std::max((prompt_tokens + drawn - 1) / block * block, prompt_tokens);
      const auto behind = prompt_tokens + drawn - known;
      EXPECT_EQ(engine.statistics().prompt_tokens - read,
                prompt_tokens % block + (behind == 1 ? 0 : behind))
          << prompt_tokens << " and " << drawn;
    }
  }
}

TEST_F(KeptKeys, are_found_after_several_changes_and_by_what_was_read_again) {
  const auto one = request(2 * block, 2);
  auto engine = make_engine();
  auto again = begun_in(engine, one);
  engine.set_weights(next_, PauseGenerationMode::in_place);
  engine.set_weights(last_, PauseGenerationMode::in_place);
  const auto read = engine.statistics().prompt_tokens;
  engine.add(again);
  steps(engine, 2);
  EXPECT_EQ(engine.statistics().prompt_tokens, read);

  // Another engine has none of it, and reads all. It is known there by the version of then.
  again = given_up(engine, one);
  auto other = make_engine();
  other.set_weights(next_, PauseGenerationMode::in_place);
  other.add(again);
  steps(other, block);
  const auto all = other.statistics().prompt_tokens;
  EXPECT_GT(all, 2 * 2 * block);
  again = given_up(other, again);
  other.set_weights(last_, PauseGenerationMode::in_place);
  other.add(again);
  (void)run_to_end(other);
  EXPECT_LT(other.statistics().prompt_tokens, all + 2 * block);
}

/// All of them read the same prompt in the same step, up to its last token.
TEST_F(KeptKeys, of_equal_prompts_that_came_together_are_all_found) {
  std::vector<GenerateRequest> requests;
  for (std::int64_t id = 0; id < 4; ++id) {
    requests.push_back(request(2 * block, 1));
    requests.back().first_sample = base::SampleId(id);
  }
  auto engine = make_engine();
  for (const auto& one : requests) engine.add(one);
  steps(engine, block + 1);
  for (auto& one : requests) one = given_up(engine, one);
  engine.set_weights(next_, PauseGenerationMode::in_place);
  const auto read = engine.statistics().prompt_tokens;
  for (const auto& one : requests) engine.add(one);
  (void)run_to_end(engine);
  EXPECT_EQ(engine.statistics().prompt_tokens, read);
}

/// Such as what all conversations begin with.
TEST_F(KeptKeys, are_found_where_others_have_begun_with_the_same_since_then) {
  const auto one = request(2 * block, 1);
  auto engine = make_engine();
  auto again = begun_in(engine, one);
  engine.set_weights(next_, PauseGenerationMode::in_place);
  engine.add(again);
  steps(engine, block);
  again = given_up(engine, again);
  ASSERT_EQ(again.begun[0].versions.size(), 2U);
  auto other = request(2 * block, 1);
  other.first_sample = base::SampleId(900);
  engine.add(other);
  (void)run_to_end(engine);
  engine.set_weights(last_, PauseGenerationMode::in_place);
  const auto read = engine.statistics().prompt_tokens;
  engine.add(again);
  (void)run_to_end(engine);
  EXPECT_EQ(engine.statistics().prompt_tokens, read);
}

TEST_F(KeptKeys, are_gone_when_everything_is_to_be_read_by_new_weights) {
  for (const auto mode : {PauseGenerationMode::retract, PauseGenerationMode::abort}) {
    const auto one = request(2 * block, 1);
    auto engine = make_engine();
    const auto again = begun_in(engine, one);
    engine.set_weights(next_, PauseGenerationMode::in_place);
    engine.set_weights(last_, mode);
    const auto read = engine.statistics().prompt_tokens;
    engine.add(again);
    const auto answers = run_to_end(engine);
    EXPECT_EQ(engine.statistics().prompt_tokens - read, 3 * block + 1);
    auto fresh = make_engine();
    fresh.set_weights(last_, PauseGenerationMode::retract);
    fresh.add(again);
    expect_same(answers, run_to_end(fresh));
  }
}

/// What an answer keeps is for itself alone: a new one with the same tokens is of the new weights.
TEST_F(KeptKeys, are_for_nobody_who_begins_later) {
  const auto one = request(2 * block, 1);
  auto engine = make_engine();
  const auto again = begun_in(engine, one);
  engine.set_weights(next_, PauseGenerationMode::in_place);
  auto same = request(0, 1, 500);
  same.prompt = one.prompt;
  same.prompt.insert(same.prompt.end(), again.begun[0].response.begin(),
                     again.begun[0].response.end());
  engine.add(again);
  engine.add(same);
  auto answers = run_to_end(engine);
  answers.erase(0);
  auto fresh = make_engine();
  fresh.set_weights(next_, PauseGenerationMode::retract);
  fresh.add(same);
  expect_same(answers, run_to_end(fresh));
}

/// With memory of every size: what is kept never exceeds it (the pool would throw), everybody ends,
/// and no token is lost.
TEST_F(KeptKeys, give_way_to_those_who_run) {
  constexpr std::int64_t block_bytes = 16 * (8 + 8) * 2 * 2 * 4;
  std::int64_t reused = 0;
  for (std::int64_t blocks = 9; blocks < 60; blocks += blocks < 20 ? 2 : 10) {
    auto limits = small_limits();
    limits.kv_cache_bytes = blocks * block_bytes;
    limits.prefill_tokens = 20;
    auto engine = make_engine(limits);
    std::map<std::int64_t, GenerateRequest> open;
    for (std::int64_t i = 0; i < 8; ++i) open[100 * i] = request(10 + 9 * i % 40, 1, 100 * i);
    for (const auto& [id, one] : open) engine.add(one);
    for (int step = 0; !open.empty(); ++step) {
      ASSERT_LT(step, 20000) << blocks << " blocks";
      for (const auto& answer : engine.step()) {
        EXPECT_EQ(answer.response.size(), 60U);
        const auto& before = open.at(answer.id.value()).begun;
        const auto kept = before.empty() ? 0 : std::ssize(before[0].response);
        EXPECT_TRUE(kept == 0 || std::equal(before[0].response.begin(), before[0].response.end(),
                                            answer.response.begin()));
        open.erase(answer.id.value());
      }
      if (step % 30 != 25) continue;
      for (auto& [id, one] : open)
        if ((id / 100 + step) % 3 != 0) one = given_up(engine, one);
      engine.set_weights(random_image(config_, 5, 4 + step), PauseGenerationMode::in_place);
      for (const auto& [id, one] : open)
        if ((id / 100 + step) % 3 != 0) engine.add(one);
    }
    reused += engine.statistics().reused_tokens;
  }
  EXPECT_GT(reused, 0);
}

}  // namespace
}  // namespace physarum::rollout
