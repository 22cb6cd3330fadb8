#include <algorithm>
#include <functional>
#include <span>
#include <string>

#include <gtest/gtest.h>

#include "rollout/worker_fixture.hpp"

namespace physarum::rollout {
namespace {

class WorkerStopStrings : public Worker {
 protected:
  static bool is_ascii(char byte) { return static_cast<unsigned char>(byte) < 0x80; }
  /// Answers without stop strings, then the same with one that `make_string` makes of three tokens
  /// of one of them (empty: not of these). It ends where its text first has the string.
  void expect_stopped(
      const std::function<std::string(std::span<const base::TokenId>)>& make_string) {
    publish(0);
    auto lease = lease_of(0, 64, 0);
    lease.sampling.stop_token_ids.clear();
    head_.lend(lease);
    options_.concurrency = 64;
    run_to(1);
    std::string string;
    std::size_t index = 0;
    for (std::size_t i = 0; i < 64 && string.empty(); ++i) {
      const auto response = std::span(sample_of(0, i).tokens)
                                .subspan(static_cast<std::size_t>(sample_of(0, i).prompt_tokens));
      for (std::size_t at = 4; at + 3 <= response.size() && string.empty(); ++at) {
        string = make_string(response.subspan(at, 3));
        index = i;
      }
    }
    ASSERT_FALSE(string.empty());
    lease.id = base::LeaseId(2000);
    lease.group = base::GroupId(1);
    lease.sampling.stop_strings = {string};
    head_.lend(lease);
    run_to(2);
    const auto& whole = sample_of(0, index);
    const auto& sample = sample_of(1, index);
    EXPECT_EQ(sample.status, sample::SampleStatus::completed);
    ASSERT_LE(sample.tokens.size(), whole.tokens.size());
    EXPECT_TRUE(std::equal(sample.tokens.begin(), sample.tokens.end(), whole.tokens.begin()));
    EXPECT_EQ(sample.response, text_of(sample, sample.response_tokens()));
    EXPECT_NE(sample.response.find(string), std::string::npos);
    const auto without_last = text_of(sample, sample.response_tokens() - 1);
    EXPECT_EQ(without_last.find(string), std::string::npos);
    EXPECT_EQ(sample.trained_tokens(), sample.response_tokens());
  }
};

TEST_F(WorkerStopStrings, a_stop_string_and_its_last_token_stay_in_the_sample) {
  // Of the last byte of a token and the first of the next, which has more: it ends inside.
  expect_stopped([this](std::span<const base::TokenId> three) -> std::string {
    const auto before = tokenizer_.token_bytes(three[1]);
    const auto last = tokenizer_.token_bytes(three[2]);
    if (before.empty() || last.size() < 2 || !is_ascii(before.back()) || !is_ascii(last.front()))
      return {};
    return {before.back(), last.front()};
  });
}

TEST_F(WorkerStopStrings, special_tokens_do_not_interrupt_a_stop_string) {
  expect_stopped([this](std::span<const base::TokenId> three) -> std::string {
    const auto before = tokenizer_.token_bytes(three[0]);
    const auto after = tokenizer_.token_bytes(three[2]);
    const bool special = tokenizer_.is_special(three[1]);
    if (!special || tokenizer_.is_special(three[0]) || tokenizer_.is_special(three[2])) return {};
    if (!is_ascii(before.back()) || !is_ascii(after.front())) return {};
    return std::string(1, before.back()) + std::string(after);
  });
}

}  // namespace
}  // namespace physarum::rollout
