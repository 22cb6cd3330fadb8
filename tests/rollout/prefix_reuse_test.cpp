// Sequences that begin with the same tokens, one after another and beside one another.

#include <algorithm>

#include <gtest/gtest.h>

#include "physarum/rollout/decode_engine.hpp"

#include "rollout/engine_fixture.hpp"

namespace physarum::rollout {
namespace {

using TokenIds = std::vector<base::TokenId>;

constexpr std::int64_t block_bytes = 16 * (8 + 8) * 2 * 2 * 4;

TokenIds joined(TokenIds a, const TokenIds& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

GenerateRequest request(TokenIds prompt, std::int64_t id, std::int64_t n_samples = 1,
                        std::int64_t most_tokens = 20) {
  return {.prompt = std::move(prompt),
          .first_sample = base::SampleId(id),
          .n_samples = n_samples,
          .sampling = sampling_of(most_tokens)};
}

class Prefix : public Engine {
 protected:
  DecodeEngine engine_with(PrefixReuse reuse, std::int64_t blocks = 1000, int threads = 1) {
    auto limits = small_limits();
    limits.prefix_reuse = reuse;
    limits.kv_cache_bytes = blocks * block_bytes;
    limits.threads = threads;
    return make_engine(limits);
  }
  Answers run(DecodeEngine& engine, const std::vector<GenerateRequest>& requests) {
    for (const auto& one : requests) engine.add(one);
    return run_to_end(engine);
  }
  /// Without sharing anything with anybody.
  Answers fresh(const std::vector<GenerateRequest>& requests) {
    Answers all;
    for (const auto& one : requests) {
      auto engine = engine_with(PrefixReuse::off);
      all.merge(run(engine, {one}));
      EXPECT_EQ(engine.statistics().reused_tokens, 0);
    }
    return all;
  }
};

TEST_F(Prefix, the_next_turn_of_a_conversation_is_read_from_where_it_is_new) {
  auto engine = engine_with(PrefixReuse::on);
  const auto question = random_prompt(37, 1);
  const auto first = run(engine, {request(question, 0)});
  const auto& response = first.at(0).response;
  const auto spoken = static_cast<std::int64_t>(question.size() + response.size());
  const auto turn = request(joined(joined(question, response), random_prompt(30, 2)), 100);
  const auto second = run(engine, {turn});
  expect_same(second, fresh({turn}));
  // The last token of an answer is never read; full blocks before it are.
  const auto known = (spoken - 1) / 16 * 16;
  ASSERT_GE(known, 48);
  EXPECT_EQ(engine.statistics().reused_tokens, known);
  EXPECT_EQ(engine.statistics().prompt_tokens, 37 + spoken + 30 - known);
}

/// One token of a prompt must be read, for what comes behind it.
TEST_F(Prefix, a_prompt_that_is_known_as_a_whole_still_gives_its_next_token) {
  for (const std::int64_t length : {15, 16, 17, 32, 48}) {
    auto engine = engine_with(PrefixReuse::on);
    const auto prompt = random_prompt(length, 5);
    (void)run(engine, {request(prompt, 0)});
    const auto before = engine.statistics().prompt_tokens;
    const auto again = run(engine, {request(prompt, 100)});
    expect_same(again, fresh({request(prompt, 100)}));
    EXPECT_EQ(engine.statistics().prompt_tokens - before, (length - 1) % 16 + 1) << length;
  }
}

/// Answers that are resumed come one by one, all at once.
TEST_F(Prefix, equal_beginnings_of_requests_that_come_together_are_read_once) {
  for (const int threads : {1, 2}) {
    std::vector<GenerateRequest> requests;
    const auto prompt = random_prompt(50, 3);
    for (std::int64_t i = 0; i < 6; ++i) {
      requests.push_back(
          request(joined(prompt, random_prompt(7, static_cast<std::uint64_t>(i))), 100 * i, 2));
    }
    auto engine = engine_with(PrefixReuse::on, 1000, threads);
    expect_same(run(engine, requests), fresh(requests));
    EXPECT_EQ(engine.statistics().prompt_tokens, 57 + 5 * (57 - 48));
    EXPECT_EQ(engine.statistics().reused_tokens, 5 * 48);
  }
}

TEST_F(Prefix, prompts_that_are_read_in_pieces_are_shared_too) {
  std::vector<GenerateRequest> requests;
  const auto prompt = random_prompt(70, 4);
  for (std::int64_t i = 0; i < 5; ++i) {
    requests.push_back(
        request(joined(prompt, random_prompt(i, static_cast<std::uint64_t>(i))), 100 * i));
  }
  for (const std::int64_t prefill : {1, 7, 16, 23, 64}) {
    auto limits = small_limits();
    limits.prefill_tokens = prefill;
    auto engine = make_engine(limits);
    expect_same(run(engine, requests), fresh(requests));
    EXPECT_GT(engine.statistics().reused_tokens, 0) << prefill;
  }
}

/// Conversations of several turns with several answers each, with memory of every size: what is
/// shared, given up, found again and read again changes no bit and never exceeds the memory (the
/// pool would throw).
TEST_F(Prefix, changes_no_bit_in_memory_of_every_size) {
  std::vector<GenerateRequest> requests;
  for (std::int64_t conversation = 0; conversation < 4; ++conversation) {
    const auto item = static_cast<std::uint64_t>(conversation % 3);
    TokenIds text = random_prompt(20 + 3 * conversation / 2, item);
    for (std::int64_t turn = 0; turn < 3; ++turn) {
      requests.push_back(request(text, 1000 * conversation + 100 * turn, 1 + turn, 12));
      text = joined(text, random_prompt(21, item + 10 * static_cast<std::uint64_t>(turn)));
    }
  }
  const auto expected = fresh(requests);
  std::int64_t reused = 0, preempted = 0;
  for (std::int64_t blocks = 9; blocks < 80; blocks += blocks < 20 ? 1 : 15) {
    for (const std::int64_t prefill : {20, 256}) {
      auto limits = small_limits();
      limits.kv_cache_bytes = blocks * block_bytes;
      limits.prefill_tokens = prefill;
      auto engine = make_engine(limits);
      Answers answers;
      // Twice: the second time much of it is there.
      for (int round = 0; round < 2; ++round) {
        answers.clear();
        for (const auto& one : requests) engine.add(one);
        for (int step = 0; engine.unfinished() > 0; ++step) {
          ASSERT_LT(step, 20000) << blocks << " blocks";
          collect(engine, answers);
          if (step % 40 == 25) engine.set_weights(image_, PauseGenerationMode::retract);
        }
        expect_same(answers, expected);
      }
      reused += engine.statistics().reused_tokens;
      preempted += engine.statistics().preemptions;
    }
  }
  EXPECT_GT(reused, 0);
  EXPECT_GT(preempted, 0);
}

/// An answer that had to wait finds what it has already said.
TEST_F(Prefix, an_answer_that_gave_its_memory_away_finds_what_is_still_there) {
  const auto requests = requests_of(10, 3);
  const auto work = [&](PrefixReuse reuse) {
    auto engine = engine_with(reuse, 14);
    expect_same(run(engine, requests), alone(requests));
    EXPECT_GT(engine.statistics().preemptions, 0);
    return engine.statistics().prompt_tokens;
  };
  EXPECT_LT(work(PrefixReuse::on), work(PrefixReuse::off));
}

TEST_F(Prefix, ends_with_the_weights) {
  const auto other = random_image(config_, 6, 4);
  const auto prompt = random_prompt(40, 7);
  DecodeEngine expected(config_, small_limits(), seed);
  expected.set_weights(other, PauseGenerationMode::retract);
  const auto wanted = run(expected, {request(prompt, 100)});
  for (const auto mode :
       {PauseGenerationMode::abort, PauseGenerationMode::retract, PauseGenerationMode::in_place}) {
    auto engine = engine_with(PrefixReuse::on);
    (void)run(engine, {request(prompt, 0)});
    engine.set_weights(other, mode);
    expect_same(run(engine, {request(prompt, 100)}), wanted);
    EXPECT_EQ(engine.statistics().reused_tokens, 0);
  }
}

/// What goes on with the old weights' keys is for nobody else, neither while it runs nor later.
TEST_F(Prefix, takes_nothing_from_answers_that_keep_the_keys_of_old_weights) {
  const auto other = random_image(config_, 6, 4);
  const auto prompt = random_prompt(40, 7);
  DecodeEngine expected(config_, small_limits(), seed);
  expected.set_weights(other, PauseGenerationMode::retract);
  const auto wanted = run(expected, {request(prompt, 100)});
  auto engine = engine_with(PrefixReuse::on);
  engine.add(request(prompt, 0, 2));
  for (int i = 0; i < 5; ++i) (void)engine.step();
  engine.set_weights(other, PauseGenerationMode::in_place);
  engine.add(request(prompt, 100));
  auto answers = run_to_end(engine);
  const auto next = request(joined(prompt, answers.at(0).response), 200);
  expect_same(run(engine, {next}), run(expected, {next}));
  std::erase_if(answers, [](const auto& one) { return one.first < 100; });
  expect_same(answers, wanted);
}

}  // namespace
}  // namespace physarum::rollout
