// The likeliest tokens that are recorded beside each drawn one.

#include "top_tokens.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"
#include "physarum/base/philox.hpp"

#include "physarum/model/transformer.hpp"

#include "rollout/engine_fixture.hpp"
#include "sampler.hpp"

namespace physarum::rollout {
namespace {

constexpr std::int64_t top_vocab = 150;
using TopIds = std::vector<base::TokenId>;

std::vector<float> top_logits() {
  const base::RandomStream stream(2, base::StreamKind::test);
  std::vector<float> logits;
  for (std::uint32_t i = 0; i < top_vocab; ++i)
    logits.push_back(2.0F * static_cast<float>(stream.normal(0, i)));
  logits[77] = logits[12];  // equals
  return logits;
}

sample::SamplingOptions top_options(std::int64_t count, double temperature = 1) {
  sample::SamplingOptions options;
  options.temperature = temperature;
  options.top_log_probs = count;
  return options;
}

struct Alternative {
  base::TokenId id;
  double log_prob;
};

/// Written as the documentation says it: of the softmax over the ids, or over all.
std::vector<Alternative> slow_top(const std::vector<float>& logits, double temperature,
                                  std::span<const base::TokenId> nucleus = {}) {
  TopIds order(nucleus.begin(), nucleus.end());
  if (order.empty()) {
    order.resize(logits.size());
    std::iota(order.begin(), order.end(), 0);
  }
  const auto z = [&](base::TokenId id) {
    return static_cast<double>(logits[static_cast<std::size_t>(id)]) / temperature;
  };
  double sum = 0;
  for (const auto id : order) sum += std::exp(z(id));
  std::ranges::stable_sort(order, std::ranges::greater{}, z);
  std::vector<Alternative> top;
  for (const auto id : order) top.push_back({id, z(id) - std::log(sum)});
  return top;
}

void expect_top(const DrawnToken& drawn, std::int64_t count,
                const std::vector<Alternative>& expected) {
  ASSERT_EQ(std::ssize(drawn.top_ids), count);
  ASSERT_EQ(std::ssize(drawn.top_log_probs), count);
  for (std::size_t i = 0; i < drawn.top_ids.size(); ++i) {
    const bool there = i < expected.size();
    EXPECT_EQ(drawn.top_ids[i], there ? expected[i].id : sample::no_alternative) << i;
    if (!there) {
      EXPECT_EQ(drawn.top_log_probs[i], sample::no_log_prob);
      continue;
    }
    EXPECT_NEAR(static_cast<double>(drawn.top_log_probs[i]), expected[i].log_prob, 1e-5);
    if (drawn.top_ids[i] == drawn.token) {
      EXPECT_EQ(drawn.top_log_probs[i], drawn.log_prob);
    }
  }
}

TEST(TopTokens, are_the_likeliest_of_the_softmax_that_the_log_prob_is_of) {
  const auto logits = top_logits();
  Sampler sampler(top_vocab);
  for (const double temperature : {0.3, 1.0, 1.7}) {
    const auto expected = slow_top(logits, temperature);
    for (const std::int64_t count : {std::int64_t{1}, std::int64_t{5}, top_vocab}) {
      for (int i = 0; i < 20; ++i)
        expect_top(sampler.draw(logits.data(), top_options(count, temperature), i / 20.0), count,
                   expected);
    }
  }
}

TEST(TopTokens, of_a_greedy_draw_are_of_the_plain_softmax_and_it_is_the_first) {
  const auto logits = top_logits();
  Sampler sampler(top_vocab);
  const auto drawn = sampler.draw(logits.data(), top_options(4, 0), 0.5);
  expect_top(drawn, 4, slow_top(logits, 1));
  EXPECT_EQ(drawn.top_ids[0], drawn.token);
}

TEST(TopTokens, of_a_nucleus_are_in_it_and_end_with_it) {
  const auto logits = top_logits();
  Sampler sampler(top_vocab);
  auto options = top_options(30, 0.8);
  options.top_k = 40;
  options.top_p = 0.6;
  options.nucleus_limit = top_vocab;
  for (int i = 0; i < 20; ++i) {
    const auto drawn = sampler.draw(logits.data(), options, i / 20.0);
    ASSERT_GT(drawn.nucleus.size(), 1U);
    ASSERT_LT(drawn.nucleus.size(), 30U);
    expect_top(drawn, 30, slow_top(logits, 0.8, drawn.nucleus));
  }
  // Where nothing is recorded the log-prob is of all tokens, and so are they.
  options.nucleus_limit = 0;
  expect_top(sampler.draw(logits.data(), options, 0.5), 30, slow_top(logits, 0.8));
}

TEST(TopTokens, do_not_see_penalties_and_forbidden_tokens) {
  auto logits = top_logits();
  logits[33] = 9.0F;
  const TopIds forbidden = {33};
  auto options = top_options(6);
  options.repetition_penalty = 30;
  const SeenTokens seen(TopIds{12});
  Sampler sampler(top_vocab);
  const auto drawn =
      sampler.draw(logits.data(), options, 0.4, {.forbidden = forbidden, .seen = &seen});
  EXPECT_NE(drawn.token, 33);
  expect_top(drawn, 6, slow_top(logits, 1));
}

TEST(TopTokens, leave_out_what_cannot_be_drawn) {
  std::vector<float> logits(top_vocab, -std::numeric_limits<float>::infinity());
  logits[5] = 1;
  logits[9] = 2;
  Sampler sampler(top_vocab);
  expect_top(sampler.draw(logits.data(), top_options(4), 0.1), 4,
             {{9, -std::log(1 + std::exp(-1.0))}, {5, -1 - std::log(1 + std::exp(-1.0))}});
}

TEST(TopTokens, are_not_there_and_change_nothing_if_none_are_asked_for) {
  const auto logits = top_logits();
  Sampler sampler(top_vocab);
  for (int i = 0; i < 50; ++i) {
    const auto with = sampler.draw(logits.data(), top_options(8), i / 50.0);
    const auto token = with.token;
    const auto log_prob = with.log_prob;
    const auto without = sampler.draw(logits.data(), top_options(0), i / 50.0);
    EXPECT_TRUE(without.top_ids.empty() && without.top_log_probs.empty());
    EXPECT_EQ(without.token, token);
    EXPECT_EQ(without.log_prob, log_prob);
  }
}

class EngineTopTokens : public Engine {
 protected:
  static sample::SamplingOptions sampling(std::int64_t count) {
    auto sampling = sampling_of();
    sampling.temperature = 0.9;
    sampling.top_log_probs = count;
    return sampling;
  }
  static std::vector<GenerateRequest> requests(std::int64_t count) {
    std::vector<GenerateRequest> all;
    for (std::int64_t i = 0; i < 6; ++i) {
      auto one = sampling(count);
      if (i % 2 == 1) one.top_p = 0.8;
      one.nucleus_limit = 50;
      one.presence_penalty = i == 2 ? 0.5 : 0;
      all.push_back(request_of(i, 3, one));
    }
    return all;
  }
};

TEST_F(EngineTopTokens, have_the_bits_that_the_trainer_gives_these_tokens) {
  const auto request = request_of(3, 2, sampling(3));
  model::ParameterStore store(config_, model::Gradients::none);
  image_.copy_to(store.values());
  model::Transformer transformer(config_, store);
  for (const auto& [id, answer] : alone({request})) {
    model::PackedBatch batch;
    auto tokens = request.prompt;
    for (std::size_t i = 0; i < answer.response.size(); ++i) {
      for (std::size_t k = 3 * i; k < 3 * i + 3; ++k) {
        tokens.push_back(answer.top_log_probs.ids[k]);
        batch.append(tokens, std::ssize(tokens) - 1);
        tokens.pop_back();
      }
      tokens.push_back(answer.response[i]);
    }
    const auto scores = transformer.forward(batch, {.temperature = 0.9});
    EXPECT_EQ(std::vector<float>(scores.log_probs.begin(), scores.log_probs.end()),
              answer.top_log_probs.log_probs);
  }
}

TEST_F(EngineTopTokens, are_the_same_in_every_batch_and_when_it_is_read_again) {
  const auto expected = alone(requests(4));
  auto engine = make_engine();
  for (const auto& request : requests(4)) engine.add(request);
  expect_same(run_with_swaps(engine, image_), expected);
  for (const auto& [id, answer] : expected)
    EXPECT_EQ(answer.top_log_probs.ids.size(), 4 * answer.response.size());
}

TEST_F(EngineTopTokens, are_kept_by_answers_that_give_their_memory_away) {
  auto limits = small_limits();
  limits.kv_cache_bytes = std::int64_t{100} << 10;
  auto engine = make_engine(limits);
  for (const auto& request : requests(4)) engine.add(request);
  expect_same(run_to_end(engine), alone(requests(4)));
  EXPECT_GT(engine.statistics().preemptions, 0);
}

TEST_F(EngineTopTokens, go_on_with_an_answer_that_was_given_up) {
  const auto expected = alone(requests(4));
  auto engine = make_engine();
  Answers answers;
  for (const auto& request : requests(4)) engine.add(request);
  for (int step = 0; step < 6; ++step) collect(engine, answers);
  std::vector<GenerateRequest> rest;
  for (auto request : requests(4)) {
    for (auto& begun : engine.give_up(request.first_sample, 3)) {
      request.first_sample = begun.id;
      request.n_samples = 1;
      request.begun = {std::move(begun)};
      rest.push_back(request);
    }
  }
  ASSERT_GT(rest.size(), 4U);
  auto other = make_engine();
  for (const auto& request : rest) other.add(request);
  answers.merge(run_to_end(other));
  expect_same(answers, expected);
}

TEST_F(EngineTopTokens, of_an_answer_that_was_begun_are_as_many_as_asked_for) {
  auto request = request_of(1, 1, sampling(4));
  auto engine = make_engine();
  engine.add(request);
  for (int step = 0; step < 4; ++step) (void)engine.step();
  request.begun = engine.give_up(request.first_sample, 1);
  ASSERT_GT(request.begun.front().response.size(), 0U);
  request.sampling.top_log_probs = 3;
  EXPECT_THROW(engine.add(request), base::ContractViolation);
}

TEST_F(EngineTopTokens, change_no_other_bit_and_cost_nothing_if_none_are_asked_for) {
  const auto without = alone(requests(0));
  auto with = alone(requests(9));
  for (auto& [id, answer] : with) {
    EXPECT_FALSE(answer.top_log_probs.empty());
    answer.top_log_probs = {};
  }
  expect_same(with, without);
  for (const auto& [id, answer] : without) {
    EXPECT_EQ(answer.top_log_probs.ids.capacity(), 0U);
    EXPECT_EQ(answer.top_log_probs.log_probs.capacity(), 0U);
  }
}

}  // namespace
}  // namespace physarum::rollout
