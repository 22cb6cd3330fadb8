// What is recorded of distributions that top-k, top-p and min-p have cut.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "physarum/base/philox.hpp"

#include "physarum/model/transformer.hpp"

#include "rollout/engine_fixture.hpp"
#include "sampler.hpp"

namespace physarum::rollout {
namespace {

using Ids = std::vector<base::TokenId>;

constexpr std::int64_t cut_vocab = 150;

std::vector<float> spread_logits(float spread = 2.0F) {
  const base::RandomStream stream(1, base::StreamKind::test);
  std::vector<float> logits;
  for (std::uint32_t i = 0; i < cut_vocab; ++i) {
    logits.push_back(spread * static_cast<float>(stream.normal(0, i)));
  }
  return logits;
}

sample::SamplingOptions cut_by(std::int64_t top_k, double top_p, double min_p,
                               std::int64_t limit = cut_vocab, double temperature = 0.9) {
  sample::SamplingOptions options;
  options.temperature = temperature;
  options.top_k = top_k;
  options.top_p = top_p;
  options.min_p = min_p;
  options.nucleus_limit = limit;
  return options;
}

Ids copied(std::span<const base::TokenId> ids) { return {ids.begin(), ids.end()}; }

/// Written as the documentation says it.
Ids slow_nucleus(const std::vector<float>& logits, const sample::SamplingOptions& options) {
  std::vector<double> p;
  for (const float logit : logits) {
    p.push_back(std::exp(static_cast<double>(logit) / options.temperature));
  }
  const auto mass_of = [&](base::TokenId id) { return p[static_cast<std::size_t>(id)]; };
  Ids order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater{}, mass_of);
  if (options.top_k > 0 && options.top_k < std::ssize(order)) {
    order.resize(static_cast<std::size_t>(options.top_k));
  }
  double total = 0;
  for (const auto id : order) total += mass_of(id);
  double mass = 0;
  std::size_t kept = 0;
  while (kept < order.size() && mass < options.top_p * total &&
         mass_of(order[kept]) >= options.min_p * mass_of(order[0])) {
    mass += mass_of(order[kept++]);
  }
  order.resize(std::min(kept, static_cast<std::size_t>(options.nucleus_limit)));
  std::ranges::sort(order);
  return order;
}

double log_share(const std::vector<float>& logits, const Ids& ids, base::TokenId token,
                 double temperature) {
  double sum = 0;
  const auto z = [&](base::TokenId id) {
    return static_cast<double>(logits[static_cast<std::size_t>(id)]) / temperature;
  };
  for (const auto id : ids) sum += std::exp(z(id));
  return z(token) - std::log(sum);
}

TEST(Nucleus, is_what_the_cuts_leave_and_the_log_prob_is_of_the_softmax_over_it) {
  const auto logits = spread_logits();
  Sampler sampler(cut_vocab);
  for (const auto& options : {cut_by(5, 1, 0), cut_by(-1, 0.8, 0), cut_by(-1, 1, 0.1),
                              cut_by(20, 0.9, 0), cut_by(40, 0.95, 0.05), cut_by(1, 1, 0)}) {
    const auto expected = slow_nucleus(logits, options);
    ASSERT_LT(expected.size(), std::size_t{cut_vocab});
    for (int i = 0; i < 50; ++i) {
      const auto drawn = sampler.draw(logits.data(), options, i / 50.0);
      EXPECT_EQ(copied(drawn.nucleus), expected);
      EXPECT_FALSE(drawn.narrowed);
      EXPECT_NEAR(static_cast<double>(drawn.log_prob),
                  log_share(logits, expected, drawn.token, options.temperature), 1e-5);
    }
  }
}

TEST(Nucleus, is_drawn_from_as_if_it_were_not_recorded) {
  const auto logits = spread_logits();
  Sampler sampler(cut_vocab);
  for (auto options : {cut_by(5, 1, 0), cut_by(-1, 0.8, 0), cut_by(40, 0.95, 0.05)}) {
    for (int i = 0; i < 200; ++i) {
      options.nucleus_limit = cut_vocab;
      const auto recorded = sampler.draw(logits.data(), options, i / 200.0).token;
      options.nucleus_limit = 0;
      const auto plain = sampler.draw(logits.data(), options, i / 200.0);
      EXPECT_EQ(recorded, plain.token);
      EXPECT_TRUE(plain.nucleus.empty());
      Ids all(cut_vocab);
      std::iota(all.begin(), all.end(), 0);
      EXPECT_NEAR(static_cast<double>(plain.log_prob),
                  log_share(logits, all, plain.token, options.temperature), 1e-5);
    }
  }
}

TEST(Nucleus, is_not_there_where_nothing_is_cut) {
  const auto logits = spread_logits();
  Sampler sampler(cut_vocab);
  auto plain = cut_by(-1, 1, 0, 0);
  for (const auto& options : {cut_by(-1, 1, 0), cut_by(cut_vocab, 1, 0),
                              cut_by(cut_vocab + 1, 1, 0), cut_by(-1, 1, 1e-12)}) {
    for (int i = 0; i < 100; ++i) {
      const auto drawn = sampler.draw(logits.data(), options, i / 100.0);
      EXPECT_TRUE(drawn.nucleus.empty());
      // min-p of nearly 0 draws from the likeliest down, so another token.
      if (options.min_p > 0) continue;
      const auto same = sampler.draw(logits.data(), plain, i / 100.0);
      EXPECT_EQ(drawn.token, same.token);
      EXPECT_EQ(drawn.log_prob, same.log_prob);
    }
  }
  const auto greedy = sampler.draw(logits.data(), cut_by(5, 0.5, 0.1, cut_vocab, 0), 0.5);
  EXPECT_TRUE(greedy.nucleus.empty());
}

TEST(Nucleus, takes_the_likeliest_up_to_the_limit) {
  const auto logits = spread_logits(0.1F);
  Sampler sampler(cut_vocab);
  const auto wide = slow_nucleus(logits, cut_by(-1, 0.9, 0));
  const auto size = std::ssize(wide);
  ASSERT_GT(size, 100);
  for (const std::int64_t limit : {std::int64_t{1}, std::int64_t{17}, size - 1, size, size + 1}) {
    for (const auto& options : {cut_by(-1, 0.9, 0, limit), cut_by(149, 0.9, 0, limit)}) {
      const auto expected = slow_nucleus(logits, options);
      for (int i = 0; i < 40; ++i) {
        const auto drawn = sampler.draw(logits.data(), options, i / 40.0);
        ASSERT_EQ(copied(drawn.nucleus), expected) << limit;
        EXPECT_EQ(
            drawn.narrowed,
            std::ssize(expected) < std::ssize(slow_nucleus(logits, cut_by(options.top_k, 0.9, 0))));
        EXPECT_TRUE(std::ranges::binary_search(expected, drawn.token));
      }
    }
  }
}

TEST(Nucleus, of_equals_has_those_with_the_lowest_ids) {
  const std::vector<float> logits(cut_vocab, 0.5F);
  Sampler sampler(cut_vocab);
  const auto drawn = sampler.draw(logits.data(), cut_by(-1, 0.99, 0, 6), 0.7);
  EXPECT_EQ(copied(drawn.nucleus), (Ids{0, 1, 2, 3, 4, 5}));
  EXPECT_TRUE(drawn.narrowed);
  EXPECT_FLOAT_EQ(drawn.log_prob, -std::log(6.0F));
}

TEST(Nucleus, has_no_forbidden_token_and_follows_the_penalties) {
  auto logits = spread_logits();
  logits[33] = 9.0F;
  logits[12] = 8.0F;
  const Ids forbidden = {33};
  auto options = cut_by(10, 1, 0);
  options.repetition_penalty = 30;
  const SeenTokens seen(Ids{12});
  Sampler sampler(cut_vocab);
  auto shaped = logits;
  penalise(seen, options, shaped.data());
  shaped[33] = -std::numeric_limits<float>::infinity();
  const auto expected = slow_nucleus(shaped, options);
  ASSERT_FALSE(std::ranges::binary_search(expected, 33));
  ASSERT_FALSE(std::ranges::binary_search(expected, 12));
  const auto drawn =
      sampler.draw(logits.data(), options, 0.4, {.forbidden = forbidden, .seen = &seen});
  EXPECT_EQ(copied(drawn.nucleus), expected);
  // The log-prob is of the logits as they were.
  EXPECT_NEAR(static_cast<double>(drawn.log_prob),
              log_share(logits, expected, drawn.token, options.temperature), 1e-5);
}

/// Answers of an engine, with what the trainer's model says of them.
class EngineNucleus : public Engine {
 protected:
  void expect_bits_of_the_trainer(const GenerateRequest& request, const Answers& answers) {
    model::PackedBatch batch;
    std::vector<float> log_probs;
    for (const auto& [id, answer] : answers) {
      auto tokens = request.prompt;
      tokens.insert(tokens.end(), answer.response.begin(), answer.response.end());
      batch.append(tokens, static_cast<std::int64_t>(request.prompt.size()));
      log_probs.insert(log_probs.end(), answer.log_probs.begin(), answer.log_probs.end());
      for (std::int64_t i = 0; i < answer.nuclei.size(); ++i)
        batch.nuclei.push(answer.nuclei.at(i));
    }
    ASSERT_EQ(batch.nuclei.size(), batch.n_targets());
    model::ParameterStore store(config_, model::Gradients::none);
    image_.copy_to(store.values());
    model::Transformer transformer(config_, store);
    const auto scores = transformer.forward(batch, {.temperature = request.sampling.temperature});
    EXPECT_EQ(std::vector<float>(scores.log_probs.begin(), scores.log_probs.end()), log_probs);
  }
  static sample::SamplingOptions cut_sampling(double temperature, std::int64_t top_k, double top_p,
                                              double min_p) {
    auto sampling = sampling_of();
    sampling.temperature = temperature;
    sampling.top_k = top_k;
    sampling.top_p = top_p;
    sampling.min_p = min_p;
    sampling.nucleus_limit = 50;
    return sampling;
  }
};

TEST_F(EngineNucleus, log_probs_have_the_bits_of_the_trainer) {
  std::int64_t index = 0;
  for (const auto& sampling :
       {cut_sampling(0.8, -1, 0.9, 0), cut_sampling(1.3, -1, 0.999, 0), cut_sampling(1, 7, 1, 0),
        cut_sampling(1, -1, 1, 0.02), cut_sampling(0.7, 30, 0.95, 0.01)}) {
    const auto request = request_of(++index, 4, sampling);
    const auto answers = alone({request});
    expect_bits_of_the_trainer(request, answers);
  }
}

TEST_F(EngineNucleus, log_probs_have_the_bits_of_the_trainer_whatever_shaped_the_draws) {
  auto sampling = cut_sampling(0.8, 40, 0.95, 0.001);
  sampling.min_response_tokens = 20;
  sampling.repetition_penalty = 1.2;
  sampling.presence_penalty = 0.3;
  sampling.frequency_penalty = 0.2;
  const auto request = request_of(3, 4, sampling);
  expect_bits_of_the_trainer(request, alone({request}));
}

TEST_F(EngineNucleus, is_counted_and_of_different_sizes) {
  auto engine = make_engine();
  auto sampling = cut_sampling(0.5, -1, 0.7, 0);
  sampling.nucleus_limit = 3;
  engine.add(request_of(1, 4, sampling));
  const auto answers = run_to_end(engine);
  std::int64_t tokens = 0, ids = 0, full = 0;
  for (const auto& [id, answer] : answers) {
    for (std::int64_t i = 0; i < answer.nuclei.size(); ++i) {
      ++tokens;
      ids += std::ssize(answer.nuclei.at(i));
      full += answer.nuclei.at(i).size() == 3 ? 1 : 0;
    }
  }
  EXPECT_EQ(engine.statistics().nuclei, tokens);
  EXPECT_EQ(engine.statistics().nucleus_ids, ids);
  EXPECT_GT(engine.statistics().narrowed_nuclei, 0);
  EXPECT_LE(engine.statistics().narrowed_nuclei, full);
  EXPECT_LT(full, tokens);
}

TEST_F(EngineNucleus, is_the_same_in_every_batch_and_when_it_is_read_again) {
  std::vector<GenerateRequest> requests;
  for (std::int64_t i = 0; i < 6; ++i) {
    requests.push_back(
        request_of(i, 3, cut_sampling(1, -1, 0.5 + 0.08 * static_cast<double>(i), 0)));
  }
  auto engine = make_engine();
  for (const auto& request : requests) engine.add(request);
  expect_same(run_with_swaps(engine, image_), alone(requests));
}

TEST_F(EngineNucleus, is_not_recorded_unless_asked_for) {
  auto sampling = cut_sampling(1, -1, 0.9, 0);
  const auto recorded = alone({request_of(1, 3, sampling)});
  sampling.nucleus_limit = 0;
  const auto plain = alone({request_of(1, 3, sampling)});
  const auto whole = sampling_of();
  ASSERT_EQ(recorded.size(), plain.size());
  for (const auto& [id, answer] : recorded) {
    EXPECT_EQ(answer.nuclei.size(), std::ssize(answer.response));
    EXPECT_EQ(plain.at(id).response, answer.response);
    EXPECT_NE(plain.at(id).log_probs, answer.log_probs);
    EXPECT_TRUE(plain.at(id).nuclei.empty());
  }
  auto uncut = sampling_of();
  uncut.nucleus_limit = 50;
  const auto with_limit = alone({request_of(1, 3, uncut)});
  expect_same(with_limit, alone({request_of(1, 3, whole)}));
  for (const auto& [id, answer] : with_limit) EXPECT_TRUE(answer.nuclei.empty());
}

}  // namespace
}  // namespace physarum::rollout
