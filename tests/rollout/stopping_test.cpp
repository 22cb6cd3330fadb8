// Stop strings in the engine.
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"

#include "physarum/rollout/decode_engine.hpp"

#include "rollout/engine_fixture.hpp"

namespace physarum::rollout {
namespace {

class Stopping : public testing::Test {
 protected:
  Stopping() { sampling_.stop_token_ids.clear(); }

  Answers answers(PauseGenerationMode mode = PauseGenerationMode::retract, int swap_every = 0) {
    DecodeEngine engine(config_, small_limits(), 17, tokenizer_);
    engine.set_weights(image_, PauseGenerationMode::retract);
    for (std::int64_t i = 0; i < 6; ++i) engine.add(request_of(i, 3, sampling_));
    Answers all;
    for (int step = 1; engine.unfinished() > 0; ++step) {
      collect(engine, all);
      if (swap_every > 0 && step % swap_every == 0) engine.set_weights(image_, mode);
    }
    return all;
  }
  [[nodiscard]] std::string text(const Generated& answer, std::size_t tokens) const {
    return tokenizer_.decode(std::span(answer.response).first(tokens));
  }
  /// The fewest tokens, at least `least`, whose text has the string newly in its last token.
  [[nodiscard]] std::size_t tokens_until(const Generated& answer, const std::string& string,
                                         std::size_t least = 0) const {
    for (std::size_t n = std::max<std::size_t>(least, 1); n <= answer.response.size(); ++n) {
      const auto before = text(answer, n - 1);
      const auto from = before.size() >= string.size() ? before.size() - string.size() + 1 : 0;
      if (text(answer, n).find(string, from) != std::string::npos) return n;
    }
    return 0;
  }
  /// Each answer of `now` is the beginning of that of `whole`, ended where the string says.
  void expect_ended(const Answers& whole, const Answers& now, const std::string& string,
                    std::size_t least = 0) const {
    int matched = 0;
    for (const auto& [id, answer] : whole) {
      const auto tokens = tokens_until(answer, string, least);
      const auto& ended = now.at(id);
      EXPECT_EQ(ended.ending, tokens > 0 ? Ending::matched : Ending::truncated);
      const auto size = static_cast<std::ptrdiff_t>(tokens > 0 ? tokens : answer.response.size());
      EXPECT_EQ(ended.response, std::vector<base::TokenId>(answer.response.begin(),
                                                           answer.response.begin() + size));
      EXPECT_EQ(ended.log_probs,
                std::vector<float>(answer.log_probs.begin(), answer.log_probs.begin() + size));
      matched += tokens > 0 ? 1 : 0;
    }
    EXPECT_GT(matched, 0);
  }

  model::ModelConfig config_ = small_config();
  weights::Image image_ = random_image(config_, 5, 3);
  text::Tokenizer tokenizer_ = text::Tokenizer::from_file(std::filesystem::path(PHYSARUM_INPUTS) /
                                                          "model-small/tokenizer.json");
  sample::SamplingOptions sampling_ = sampling_of();
};

TEST_F(Stopping, an_answer_ends_with_the_token_in_which_the_string_ends) {
  const auto whole = answers();
  // Of three tokens of some answer, so that it goes across their borders.
  const auto& model = whole.at(100);
  const auto string = tokenizer_.decode(std::span(model.response).subspan(10, 3));
  ASSERT_GE(string.size(), 3U);
  sampling_.stop_strings = {"never in there", string};
  expect_ended(whole, answers(), string);
}

TEST_F(Stopping, a_common_string_ends_many_answers_at_their_first) {
  const auto whole = answers();
  const auto string = tokenizer_.decode(std::span(whole.at(0).response).subspan(5, 1));
  sampling_.stop_strings = {string};
  expect_ended(whole, answers(), string);
}

TEST_F(Stopping, reading_again_forgets_no_beginning_of_a_string) {
  const auto whole = answers();
  const auto string = tokenizer_.decode(std::span(whole.at(200).response).subspan(8, 4));
  sampling_.stop_strings = {string};
  expect_ended(whole, answers(PauseGenerationMode::retract, 3), string);
  expect_ended(whole, answers(PauseGenerationMode::in_place, 1), string);
}

TEST_F(Stopping, the_shortest_answer_comes_first) {
  const auto whole = answers();
  const auto string = tokenizer_.decode(std::span(whole.at(0).response).subspan(5, 1));
  sampling_.stop_strings = {string};
  sampling_.min_response_tokens = 15;
  expect_ended(whole, answers(), string, 15);
}

TEST_F(Stopping, stop_strings_need_a_tokenizer) {
  DecodeEngine engine(config_, small_limits(), 17);
  sampling_.stop_strings = {"a"};
  EXPECT_THROW(engine.add(request_of(0, 1, sampling_)), base::ContractViolation);
}

}  // namespace
}  // namespace physarum::rollout
