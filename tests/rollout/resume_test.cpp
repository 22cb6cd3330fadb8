// Answers that are given up and go on later, in this engine or in another one.
#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"

#include "rollout/engine_fixture.hpp"

namespace physarum::rollout {
namespace {

class Resume : public Engine {
 protected:
  DecodeEngine make(const EngineLimits& limits = small_limits()) {
    DecodeEngine engine(config_, limits, seed, tokenizer_);
    engine.set_weights(image_, PauseGenerationMode::retract);
    return engine;
  }
  Answers uninterrupted(const std::vector<GenerateRequest>& requests) {
    auto engine = make();
    for (const auto& request : requests) engine.add(request);
    return run_to_end(engine);
  }
  /// The part of a request that has not ended, to go on with.
  static std::vector<GenerateRequest> rest_of(const GenerateRequest& request,
                                              std::vector<Generated> given_up) {
    std::ranges::sort(given_up, {}, &Generated::id);
    std::vector<GenerateRequest> rest;
    for (auto& answer : given_up) {
      EXPECT_EQ(answer.ending, Ending::aborted);
      EXPECT_EQ(answer.log_probs.size(), answer.response.size());
      auto one = request;
      one.first_sample = answer.id;
      one.n_samples = 1;
      one.begun = {std::move(answer)};
      rest.push_back(std::move(one));
    }
    return rest;
  }
  /// Gives every request up after each `every` steps, and goes on in a new engine.
  Answers interrupted(std::vector<GenerateRequest> requests, int every, std::size_t* times) {
    Answers all;
    for (int engines = 0; !requests.empty(); ++engines) {
      auto limits = small_limits();
      limits.sequences = 3 + engines % 5;
      limits.prefill_tokens = 7 + 40 * (engines % 3);
      auto engine = make(limits);
      for (const auto& request : requests) engine.add(request);
      for (int step = 0; step < every && engine.unfinished() > 0; ++step) collect(engine, all);
      std::vector<GenerateRequest> rest;
      for (const auto& request : requests) {
        auto given_up = engine.give_up(request.first_sample, request.n_samples);
        *times += given_up.size();
        for (auto& one : rest_of(request, std::move(given_up))) rest.push_back(std::move(one));
      }
      EXPECT_EQ(engine.unfinished(), 0);
      requests = std::move(rest);
    }
    return all;
  }
  void expect_unchanged(const sample::SamplingOptions& sampling) {
    std::vector<GenerateRequest> requests;
    for (std::int64_t i = 0; i < 5; ++i) requests.push_back(request_of(i, 2, sampling));
    const auto expected = uninterrupted(requests);
    for (const int every : {9, 23}) {
      std::size_t times = 0;
      expect_same(interrupted(requests, every, &times), expected);
      EXPECT_GT(times, 5U);
    }
  }

  text::Tokenizer tokenizer_ = text::Tokenizer::from_file(std::filesystem::path(PHYSARUM_INPUTS) /
                                                          "model-small/tokenizer.json");
};

TEST_F(Resume, an_answer_goes_on_to_the_same_bits) { expect_unchanged(sampling_of()); }

TEST_F(Resume, penalties_know_the_earlier_tokens) {
  auto sampling = sampling_of();
  sampling.repetition_penalty = 1.3;
  sampling.presence_penalty = 0.4;
  sampling.frequency_penalty = 0.2;
  expect_unchanged(sampling);
}

TEST_F(Resume, a_stop_string_may_begin_before_and_end_after) {
  auto sampling = sampling_of();
  sampling.stop_token_ids.clear();
  const auto whole = uninterrupted({request_of(2, 1, sampling)});
  // Ends in the third token after the place where the answer is given up.
  const auto string = tokenizer_.decode(std::span(whole.at(200).response).subspan(16, 5));
  ASSERT_GE(string.size(), 4U);
  sampling.stop_strings = {string};
  expect_unchanged(sampling);
  const auto ended = uninterrupted({request_of(2, 1, sampling)});
  EXPECT_EQ(ended.at(200).ending, Ending::matched);
}

TEST_F(Resume, siblings_go_on_together_with_what_each_has) {
  const auto request = request_of(3, 6);
  const auto expected = uninterrupted({request});
  auto engine = make();
  engine.add(request);
  Answers answers;
  for (int step = 0; step < 6; ++step) collect(engine, answers);
  auto again = request;
  again.begun = engine.give_up(request.first_sample, request.n_samples);
  std::ranges::sort(again.begun, {}, &Generated::id);
  ASSERT_EQ(again.begun.size(), 6U) << "one ended early: choose another prompt";
  again.begun[2] = {};  // one begins from its prompt
  engine.add(again);
  answers.merge(run_to_end(engine));
  expect_same(answers, expected);
}

TEST_F(Resume, tokens_keep_the_version_that_made_them) {
  auto sampling = sampling_of();
  sampling.stop_token_ids.clear();
  auto request = request_of(1, 1, sampling);
  auto engine = make();
  engine.add(request);
  Answers answers;
  for (int step = 0; step < 5; ++step) collect(engine, answers);
  request.begun = engine.give_up(request.first_sample, 1);
  const auto before = request.begun.front();
  ASSERT_GT(before.response.size(), 0U);
  engine.set_weights(random_image(config_, 6, 4), PauseGenerationMode::retract);
  engine.add(request);
  const auto after = run_to_end(engine).at(100);
  ASSERT_EQ(after.versions.size(), 2U);
  EXPECT_EQ(after.versions[0], before.versions[0]);
  EXPECT_EQ(after.versions[1].version, base::WeightVersion(4));
  EXPECT_TRUE(std::equal(before.response.begin(), before.response.end(), after.response.begin()));
  EXPECT_TRUE(
      std::equal(before.log_probs.begin(), before.log_probs.end(), after.log_probs.begin()));
  EXPECT_GE(after.seconds, before.seconds);
}

TEST_F(Resume, giving_up_leaves_the_others_alone_and_frees_memory) {
  auto limits = small_limits();
  const auto requests = requests_of(8, 2);
  const auto expected = uninterrupted(requests);
  limits.kv_cache_bytes = std::int64_t{100} << 10;  // answers wait for room
  auto engine = make(limits);
  for (const auto& request : requests) engine.add(request);
  Answers answers;
  for (int step = 0; step < 4; ++step) collect(engine, answers);
  for (const std::int64_t given : {0, 3, 7})
    EXPECT_EQ(engine.give_up(base::SampleId(100 * given), 2).size(), 2U);
  answers.merge(run_to_end(engine));
  for (const auto& [id, answer] : answers) EXPECT_EQ(answer.response, expected.at(id).response);
  EXPECT_EQ(answers.size(), 10U);
  EXPECT_TRUE(engine.give_up(base::SampleId(100), 2).empty()) << "they have ended";
  EXPECT_GT(engine.free_sequences(), 0);
}

TEST_F(Resume, an_idle_engine_has_room_again) {
  auto limits = small_limits();
  limits.sequences = 1;
  auto engine = make(limits);
  engine.add(request_of(0, 2));
  (void)engine.step();
  EXPECT_EQ(engine.free_sequences(), 0);
  EXPECT_EQ(engine.give_up(base::SampleId(0), 2).size(), 2U);
  EXPECT_EQ(engine.free_sequences(), 1);
}

TEST_F(Resume, what_new_weights_aborted_is_given_up_too) {
  auto engine = make();
  engine.add(request_of(0, 2));
  for (int step = 0; step < 3; ++step) (void)engine.step();
  engine.set_weights(image_, PauseGenerationMode::abort);
  EXPECT_EQ(engine.give_up(base::SampleId(0), 2).size(), 2U);
  EXPECT_TRUE(engine.step().empty());
}

TEST_F(Resume, an_answer_without_room_for_more_is_refused) {
  auto engine = make();
  auto request = request_of(0, 1, sampling_of(3));
  request.begun.resize(1);
  request.begun[0].response = {1, 2, 3};
  request.begun[0].log_probs = {-1, -1, -1};
  request.begun[0].versions = {{base::WeightVersion(3), 3}};
  EXPECT_THROW(engine.add(request), base::ContractViolation);
}

}  // namespace
}  // namespace physarum::rollout
