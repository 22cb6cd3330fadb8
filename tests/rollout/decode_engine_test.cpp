#include "physarum/rollout/decode_engine.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"

#include "physarum/model/transformer.hpp"

#include "rollout/engine_fixture.hpp"

namespace physarum::rollout {
namespace {

TEST_F(Engine, ends_answers_by_stop_token_or_limit) {
  auto engine = make_engine();
  for (const auto& request : requests_of(10, 3)) engine.add(request);
  const auto answers = run_to_end(engine);
  ASSERT_EQ(answers.size(), 30U);
  int stopped = 0;
  for (const auto& [id, answer] : answers) {
    ASSERT_FALSE(answer.response.empty());
    const auto stop = std::find(answer.response.begin(), answer.response.end(), 69);
    if (answer.ending == Ending::stopped) {
      ++stopped;
      EXPECT_EQ(stop, answer.response.end() - 1);
    } else {
      EXPECT_EQ(answer.ending, Ending::truncated);
      EXPECT_EQ(answer.response.size(), 40U);
      EXPECT_EQ(stop, answer.response.end());
    }
    EXPECT_EQ(answer.log_probs.size(), answer.response.size());
    ASSERT_EQ(answer.versions.size(), 1U);
    EXPECT_EQ(answer.versions[0].version, base::WeightVersion(3));
    EXPECT_EQ(answer.versions[0].tokens, static_cast<std::int64_t>(answer.response.size()));
  }
  EXPECT_GT(stopped, 0);
  EXPECT_LT(stopped, 30);
}

TEST_F(Engine, an_answer_has_the_same_bits_in_every_batch) {
  const auto requests = requests_of(12, 3);
  const auto expected = alone(requests);
  for (const std::int64_t sequences : {1L, 2L, 7L, 64L}) {
    auto limits = small_limits();
    limits.sequences = sequences;
    auto engine = make_engine(limits);
    for (const auto& request : requests) engine.add(request);
    expect_same(run_to_end(engine), expected);
  }
}

TEST_F(Engine, an_answer_has_the_same_bits_whenever_it_joins) {
  auto requests = requests_of(12, 2);
  const auto expected = alone(requests);
  std::reverse(requests.begin(), requests.end());
  auto engine = make_engine();
  Answers answers;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    engine.add(requests[i]);
    for (std::size_t step = 0; step < i % 4; ++step) collect(engine, answers);
  }
  answers.merge(run_to_end(engine));
  expect_same(answers, expected);
}

TEST_F(Engine, an_answer_has_the_same_bits_with_and_without_siblings) {
  const auto together = alone({request_of(2, 5)});
  std::vector<GenerateRequest> single;
  for (std::int64_t i = 0; i < 5; ++i) {
    single.push_back(request_of(2, 1));
    single.back().first_sample = base::SampleId(200 + i);
  }
  expect_same(together, alone(single));
}

TEST_F(Engine, an_answer_has_the_same_bits_when_prompts_are_read_in_pieces) {
  const auto requests = requests_of(8, 2);
  auto limits = small_limits();
  limits.prefill_tokens = 3;
  auto engine = make_engine(limits);
  for (const auto& request : requests) engine.add(request);
  expect_same(run_to_end(engine), alone(requests));
}

TEST_F(Engine, an_answer_has_the_same_bits_when_it_is_read_again) {
  const auto requests = requests_of(8, 3);
  auto engine = make_engine();
  for (const auto& request : requests) engine.add(request);
  expect_same(run_with_swaps(engine, image_), alone(requests));
}

TEST_F(Engine, seed_and_sample_id_decide_what_is_drawn) {
  auto other = request_of(1, 1);
  other.first_sample = base::SampleId(7777);
  const auto first = alone({request_of(1, 1)});
  const auto renamed = alone({other});
  EXPECT_NE(first.at(100).response, renamed.at(7777).response);
  auto engine = make_engine(small_limits(), seed + 1);
  engine.add(request_of(1, 1));
  EXPECT_NE(first.at(100).response, run_to_end(engine).at(100).response);
}

TEST_F(Engine, log_probs_have_the_bits_of_the_trainer_whatever_shaped_the_draws) {
  auto sampling = sampling_of();
  sampling.temperature = 0.8;
  sampling.min_p = 0.01;
  sampling.min_response_tokens = 20;
  sampling.repetition_penalty = 1.2;
  sampling.presence_penalty = 0.3;
  sampling.frequency_penalty = 0.2;
  const auto request = request_of(3, 4, sampling);
  const auto answers = alone({request});
  model::PackedBatch batch;
  std::vector<float> log_probs;
  for (const auto& [id, answer] : answers) {
    auto tokens = request.prompt;
    tokens.insert(tokens.end(), answer.response.begin(), answer.response.end());
    batch.append(tokens, static_cast<std::int64_t>(request.prompt.size()));
    log_probs.insert(log_probs.end(), answer.log_probs.begin(), answer.log_probs.end());
  }
  model::ParameterStore store(config_, model::Gradients::none);
  image_.copy_to(store.values());
  model::Transformer transformer(config_, store);
  const auto scores = transformer.forward(batch, {.temperature = 0.8});
  EXPECT_EQ(std::vector<float>(scores.log_probs.begin(), scores.log_probs.end()), log_probs);
}

/// Cut distributions and penalties: all that drawing a token writes down.
sample::SamplingOptions recorded_sampling() {
  auto sampling = sampling_of();
  sampling.top_p = 0.9;
  sampling.nucleus_limit = 20;
  sampling.frequency_penalty = 0.2;
  sampling.top_log_probs = 3;
  return sampling;
}

TEST_F(Engine, threads_change_no_bit_and_no_order) {
  Answers by_one;
  std::vector<std::int64_t> order_by_one;
  EngineStatistics counted_by_one;
  for (const int threads : {1, 2, 3, 7}) {
    auto limits = small_limits();
    limits.threads = threads;
    DecodeEngine engine(config_, limits, 17);
    engine.set_weights(image_, PauseGenerationMode::retract);
    for (std::int64_t i = 0; i < 6; ++i) {
      engine.add(request_of(i, 4, i % 2 == 0 ? sampling_of() : recorded_sampling()));
    }
    Answers answers;
    std::vector<std::int64_t> order;
    while (engine.unfinished() > 0) {
      for (auto& answer : engine.step()) {
        order.push_back(answer.id.value());
        answers.emplace(order.back(), std::move(answer));
      }
    }
    ASSERT_EQ(answers.size(), 24U);
    const auto& counted = engine.statistics();
    if (threads == 1) {
      by_one = answers;
      order_by_one = order;
      counted_by_one = counted;
      ASSERT_GT(counted.narrowed_nuclei, 0);
      ASSERT_GT(counted.nuclei, counted.narrowed_nuclei);
    }
    expect_same(answers, by_one);
    EXPECT_EQ(order, order_by_one) << threads;
    EXPECT_EQ(counted.generated_tokens, counted_by_one.generated_tokens) << threads;
    EXPECT_EQ(counted.nuclei, counted_by_one.nuclei) << threads;
    EXPECT_EQ(counted.nucleus_ids, counted_by_one.nucleus_ids) << threads;
    EXPECT_EQ(counted.narrowed_nuclei, counted_by_one.narrowed_nuclei) << threads;
  }
}

TEST_F(Engine, weights_that_came_as_bf16_give_the_bits_of_fp32) {
  model::ParameterStore store(config_, model::Gradients::none);
  image_.copy_to(store.values());
  weights::Image floats(
      weights::make_catalogue(model::tensor_specs(config_), weights::TransferType::f32));
  floats.assign(store.values());
  floats.set_version(image_.version());
  Answers answers[2];
  for (const auto* image : {&image_, &floats}) {
    DecodeEngine engine(config_, small_limits(), 17);
    engine.set_weights(*image, PauseGenerationMode::retract);
    for (std::int64_t i = 0; i < 4; ++i) engine.add(request_of(i, 3));
    answers[image == &floats ? 1 : 0] = run_to_end(engine);
  }
  ASSERT_EQ(answers[0].size(), 12U);
  for (const auto& [id, answer] : answers[0]) {
    EXPECT_EQ(answer.response, answers[1].at(id).response);
    EXPECT_EQ(answer.log_probs, answers[1].at(id).log_probs);
  }
}

TEST_F(Engine, greedy_tokens_are_the_likeliest_of_the_trainer) {
  auto sampling = sampling_of(20);
  sampling.temperature = 0;
  const auto request = request_of(4, 1, sampling);
  const auto answer = alone({request}).at(400);
  auto tokens = request.prompt;
  tokens.insert(tokens.end(), answer.response.begin(), answer.response.end());
  model::PackedBatch batch;
  batch.append(tokens, 1);
  model::ParameterStore store(config_, model::Gradients::none);
  image_.copy_to(store.values());
  model::Transformer transformer(config_, store);
  const auto logits = transformer.logits(batch);
  for (std::size_t i = 0; i < answer.response.size(); ++i) {
    const auto row =
        logits.begin() + static_cast<std::ptrdiff_t>((request.prompt.size() + i - 1) * 70);
    EXPECT_EQ(std::max_element(row, row + 70) - row, answer.response[i]);
  }
}

TEST_F(Engine, respects_each_limit) {
  auto sampling = sampling_of(4);
  sampling.stop_token_ids.clear();
  for (const auto& [id, answer] : alone({request_of(1, 2, sampling)})) {
    EXPECT_EQ(answer.response.size(), 4U);
  }
  sampling = sampling_of(1);
  for (const auto& [id, answer] : alone({request_of(1, 2, sampling)})) {
    EXPECT_EQ(answer.response.size(), 1U);
  }
  sampling = sampling_of(100);
  sampling.stop_token_ids.clear();
  sampling.max_context_tokens = 30;
  const auto request = request_of(2, 1, sampling);
  EXPECT_EQ(alone({request}).at(200).response.size(), 30 - request.prompt.size());
  sampling.max_context_tokens = 1000;
  sampling.max_response_tokens = 1000;
  EXPECT_EQ(alone({request_of(2, 1, sampling)}).at(200).response.size(),
            128 - request.prompt.size());
}

TEST_F(Engine, stop_tokens_come_after_the_shortest_answer) {
  std::vector<GenerateRequest> requests;
  auto sampling = sampling_of();
  sampling.min_response_tokens = 12;
  sampling.stop_token_ids = {60, 61, 62, 63, 64, 65, 66, 67, 68, 69};
  for (std::int64_t i = 0; i < 10; ++i) requests.push_back(request_of(i, 3, sampling));
  const auto answers = alone(requests);
  bool one_has_the_shortest_length = false;
  for (const auto& [id, answer] : answers) {
    const auto stop = std::find_if(answer.response.begin(), answer.response.end(),
                                   [](base::TokenId token) { return token >= 60; });
    EXPECT_GE(stop - answer.response.begin(), 12);
    EXPECT_EQ(answer.ending == Ending::stopped, stop != answer.response.end());
    one_has_the_shortest_length = one_has_the_shortest_length || answer.response.size() == 13;
  }
  EXPECT_TRUE(one_has_the_shortest_length);
  // Reading again does not count anew.
  auto engine = make_engine();
  for (const auto& request : requests) engine.add(request);
  Answers interrupted;
  for (int i = 0; engine.unfinished() > 0; ++i) {
    collect(engine, interrupted);
    if (i % 5 == 2) engine.set_weights(image_, PauseGenerationMode::retract);
  }
  expect_same(interrupted, answers);
}

std::size_t distinct(const std::vector<base::TokenId>& tokens) {
  return std::set<base::TokenId>(tokens.begin(), tokens.end()).size();
}

TEST_F(Engine, penalties_make_answers_repeat_less) {
  auto sampling = sampling_of(40);
  sampling.stop_token_ids.clear();
  sampling.temperature = 0;
  const auto distinct_tokens = [&] {
    std::size_t sum = 0;
    for (std::int64_t i = 0; i < 6; ++i) {
      sum += distinct(alone({request_of(i, 1, sampling)}).at(100 * i).response);
    }
    return sum;
  };
  const auto without = distinct_tokens();
  for (double sample::SamplingOptions::*field :
       {&sample::SamplingOptions::repetition_penalty, &sample::SamplingOptions::presence_penalty,
        &sample::SamplingOptions::frequency_penalty}) {
    const double off = sampling.*field;
    sampling.*field = 2;
    EXPECT_GT(distinct_tokens(), without);
    sampling.*field = off;
  }
}

TEST_F(Engine, a_repetition_penalty_counts_the_prompt_and_the_others_do_not) {
  auto sampling = sampling_of(1);  // nothing has been seen but the prompt
  sampling.temperature = 0;
  auto request = request_of(4, 1, sampling);
  // A prompt that has the token which it makes the likeliest, as it can be found in some rounds.
  const auto first_token = [&] { return alone({request}).at(400).response.front(); };
  const auto prompt_has = [&](base::TokenId token) {
    return std::count(request.prompt.begin(), request.prompt.end(), token) > 0;
  };
  for (int round = 0; round < 60 && !prompt_has(first_token()); ++round) {
    request.prompt.insert(request.prompt.begin(), first_token());
  }
  const auto plain = first_token();
  ASSERT_TRUE(prompt_has(plain));
  request.sampling.presence_penalty = 2;
  request.sampling.frequency_penalty = 2;
  EXPECT_EQ(first_token(), plain);
  request.sampling.repetition_penalty = 100;
  EXPECT_NE(first_token(), plain);
  EXPECT_FALSE(prompt_has(first_token()));
}

TEST_F(Engine, penalties_do_not_depend_on_batches_or_on_reading_again) {
  auto sampling = sampling_of();
  sampling.repetition_penalty = 1.3;
  sampling.presence_penalty = 0.4;
  sampling.frequency_penalty = 0.2;
  std::vector<GenerateRequest> requests;
  for (std::int64_t i = 0; i < 8; ++i) requests.push_back(request_of(i, 3, sampling));
  const auto expected = alone(requests);
  auto limits = small_limits();
  limits.sequences = 5;
  auto engine = make_engine(limits);
  for (const auto& request : requests) engine.add(request);
  Answers answers;
  for (int i = 0; engine.unfinished() > 0; ++i) {
    collect(engine, answers);
    if (i % 5 == 2) engine.set_weights(image_, PauseGenerationMode::retract);
  }
  expect_same(answers, expected);
}

TEST_F(Engine, the_longest_answer_may_be_shorter_than_the_shortest) {
  auto sampling = sampling_of(5);
  sampling.min_response_tokens = 20;
  for (const auto& [id, answer] : alone({request_of(1, 4, sampling)})) {
    EXPECT_EQ(answer.response.size(), 5U);
    EXPECT_EQ(answer.ending, Ending::truncated);
  }
}

TEST_F(Engine, refuses_token_ids_beyond_the_vocabulary) {
  auto engine = make_engine();
  for (const base::TokenId bad : {-1, 70}) {
    auto request = request_of(0, 1);
    request.prompt.back() = bad;
    EXPECT_THROW(engine.add(request), base::ContractViolation);
    request = request_of(0, 1);
    request.sampling.stop_token_ids.push_back(bad);
    EXPECT_THROW(engine.add(request), base::ContractViolation);
  }
}

TEST_F(Engine, says_how_much_room_a_prompt_leaves) {
  const auto engine = make_engine();
  EXPECT_EQ(engine.response_room(10, sampling_of(40)), 40);
  EXPECT_EQ(engine.response_room(100, sampling_of(40)), 28);
  EXPECT_EQ(engine.response_room(128, sampling_of(40)), 0);
  EXPECT_EQ(engine.response_room(500, sampling_of(40)), 0);
  EXPECT_EQ(engine.response_room(0, sampling_of(40)), 0);
}

TEST_F(Engine, refuses_prompts_that_do_not_fit) {
  auto engine = make_engine();
  auto request = request_of(0, 1);
  request.prompt = random_prompt(128, 1);
  EXPECT_THROW(engine.add(request), base::ContractViolation);
}

TEST_F(Engine, refuses_a_cache_that_holds_no_sequence) {
  auto limits = small_limits();
  limits.kv_cache_bytes = 1000;
  EXPECT_THROW(DecodeEngine(config_, limits, seed), base::UserError);
}

TEST_F(Engine, does_not_step_without_weights) {
  DecodeEngine engine(config_, small_limits(), seed);
  EXPECT_FALSE(engine.version().valid());
  engine.add(request_of(0, 1));
  EXPECT_THROW((void)engine.step(), base::ContractViolation);
}

TEST_F(Engine, reads_a_prompt_once_for_all_its_answers) {
  auto engine = make_engine();
  const auto request = request_of(5, 8);
  engine.add(request);
  const auto answers = run_to_end(engine);
  std::int64_t tokens = 0;
  for (const auto& [id, answer] : answers) {
    tokens += static_cast<std::int64_t>(answer.response.size());
  }
  EXPECT_EQ(engine.statistics().prompt_tokens, static_cast<std::int64_t>(request.prompt.size()));
  EXPECT_EQ(engine.statistics().generated_tokens, tokens);
}

TEST_F(Engine, clear_gives_everything_up) {
  auto engine = make_engine();
  for (const auto& request : requests_of(5, 2)) engine.add(request);
  for (int i = 0; i < 3; ++i) (void)engine.step();
  engine.clear();
  EXPECT_EQ(engine.unfinished(), 0);
  EXPECT_TRUE(engine.step().empty());
  const auto requests = requests_of(5, 2);
  for (const auto& request : requests) engine.add(request);
  expect_same(run_to_end(engine), alone(requests));
}

TEST_F(Engine, clear_leaves_siblings_alone_that_have_ended) {
  auto engine = make_engine();
  auto sampling = sampling_of(80);
  sampling.min_response_tokens = 30;  // whole cache blocks of its own
  const auto request = request_of(1, 20, sampling);
  engine.add(request);
  while (engine.unfinished() == 20) (void)engine.step();
  ASSERT_GT(engine.unfinished(), 0);
  engine.clear();
  EXPECT_EQ(engine.unfinished(), 0);
  engine.add(request);
  expect_same(run_to_end(engine), alone({request}));
}

TEST_F(Engine, logits_that_are_not_finite_fail_the_answer) {
  const auto at = image_.catalogue().find("model.norm.weight");
  ASSERT_TRUE(at.has_value());
  for (auto& byte : image_.tensor(*at)) byte = std::byte{0xFF};
  auto engine = make_engine();
  engine.add(request_of(1, 2));
  for (const auto& [id, answer] : run_to_end(engine)) EXPECT_EQ(answer.ending, Ending::failed);
}

}  // namespace
}  // namespace physarum::rollout
