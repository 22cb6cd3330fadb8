#include "physarum/rollout/options.hpp"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "physarum/base/error.hpp"

#include "rollout/engine_fixture.hpp"

namespace physarum::rollout {
namespace {

RolloutOptions read(const std::vector<std::string>& arguments) {
  RolloutOptions options;
  base::OptionTable table;
  declare_options(table, options);
  EXPECT_TRUE(base::read_arguments(arguments, table).empty());
  options.validate();
  return options;
}

TEST(RolloutOptions, training_flags_reach_the_leases) {
  const auto config = small_config();
  const auto sampling = read({"--rollout-temperature",
                              "0.7",
                              "--rollout-top-p",
                              "0.9",
                              "--rollout-top-k",
                              "12",
                              "--rollout-max-response-len",
                              "30",
                              "--rollout-max-context-len",
                              "100",
                              "--rollout-stop-token-ids",
                              "5,3",
                              "--rollout-min-p",
                              "0.25",
                              "--rollout-min-response-len",
                              "7",
                              "--rollout-repetition-penalty",
                              "1.1",
                              "--rollout-presence-penalty",
                              "-0.5",
                              "--rollout-frequency-penalty",
                              "0.25"})
                            .training_sampling(config);
  EXPECT_EQ(sampling.temperature, 0.7);
  EXPECT_EQ(sampling.top_p, 0.9);
  EXPECT_EQ(sampling.top_k, 12);
  EXPECT_EQ(sampling.min_p, 0.25);
  EXPECT_EQ(sampling.repetition_penalty, 1.1);
  EXPECT_EQ(sampling.presence_penalty, -0.5);
  EXPECT_EQ(sampling.frequency_penalty, 0.25);
  EXPECT_EQ(sampling.min_response_tokens, 7);
  EXPECT_EQ(sampling.max_response_tokens, 30);
  EXPECT_EQ(sampling.max_context_tokens, 100);
  EXPECT_EQ(sampling.stop_token_ids, (std::vector<base::TokenId>{3, 5, 69}));
}

TEST(RolloutOptions, top_log_probs_are_for_answers_of_both_kinds_and_no_more_than_tokens) {
  const auto config = small_config();
  EXPECT_EQ(read({}).training_sampling(config).top_log_probs, 0);
  const auto options = read({"--rollout-top-logprobs-num", "70"});
  EXPECT_EQ(options.training_sampling(config).top_log_probs, 70);
  EXPECT_EQ(options.evaluation_sampling(config).top_log_probs, 70);
  EXPECT_NO_THROW(options.validate(config));
  EXPECT_THROW(read({"--rollout-top-logprobs-num", "71"}).validate(config), base::UserError);
}

TEST(RolloutOptions, nuclei_of_training_answers_are_recorded) {
  const auto config = small_config();
  const auto options = read({"--rollout-top-p", "0.9"});
  EXPECT_EQ(options.training_sampling(config).nucleus_limit, 4096);
  EXPECT_TRUE(options.training_sampling(config).records_nuclei());
  EXPECT_FALSE(options.evaluation_sampling(config).records_nuclei());
  EXPECT_TRUE(read({"--rollout-top-k", "9"}).training_sampling(config).records_nuclei());
  EXPECT_TRUE(read({"--rollout-min-p", "0.1"}).training_sampling(config).records_nuclei());
  EXPECT_FALSE(read({}).training_sampling(config).records_nuclei());
  const auto off = read({"--rollout-top-p", "0.9", "--rollout-nucleus-limit", "0"});
  EXPECT_FALSE(off.training_sampling(config).records_nuclei());
}

TEST(RolloutOptions, top_k_leaves_no_more_than_is_recorded) {
  const auto config = small_config();
  const auto with_limit = [](const char* limit, const char* top_k) {
    return read({"--rollout-nucleus-limit", limit, "--rollout-top-k", top_k});
  };
  EXPECT_THROW(with_limit("20", "21").validate(config), base::UserError);
  EXPECT_NO_THROW(with_limit("20", "20").validate(config));
  EXPECT_NO_THROW(with_limit("0", "21").validate(config));
  EXPECT_NO_THROW(with_limit("20", "70").validate(config));  // all tokens: nothing is cut
}

TEST(RolloutOptions, stop_strings_reach_the_leases_of_both_kinds) {
  const auto config = small_config();
  const auto options = read({"--rollout-stop", R"(["\n\n", "a, b"])"});
  const std::vector<std::string> expected = {"\n\n", "a, b"};
  EXPECT_EQ(options.training_sampling(config).stop_strings, expected);
  EXPECT_EQ(options.evaluation_sampling(config).stop_strings, expected);
  EXPECT_EQ(read({"--rollout-stop", "a, b"}).stop, std::vector<std::string>{"a, b"});
}

TEST(RolloutOptions, stop_strings_are_bounded) {
  EXPECT_EQ(read({"--rollout-stop", std::string(1000, 'x')}).stop.size(), 1U);
  std::string many = "['0'";
  for (int i = 1; i < 16; ++i) many += ",'" + std::to_string(i) + "'";
  EXPECT_EQ(read({"--rollout-stop", many + "]"}).stop.size(), 16U);
}

TEST(RolloutOptions, limits_default_to_what_the_model_can) {
  const auto config = small_config();
  const auto options = read({});
  const auto sampling = options.training_sampling(config);
  EXPECT_EQ(sampling.max_context_tokens, 128);
  EXPECT_EQ(sampling.max_response_tokens, 127);
  EXPECT_EQ(options.prompt_tokens(config), 127);
  EXPECT_EQ(read({"--rollout-max-prompt-len", "9"}).prompt_tokens(config), 9);
}

TEST(RolloutOptions, evaluation_flags_win_over_training_flags) {
  const auto config = small_config();
  const auto same =
      read({"--rollout-temperature", "0.7", "--rollout-min-p", "0.1"}).evaluation_sampling(config);
  EXPECT_EQ(same.temperature, 0.7);
  EXPECT_EQ(same.min_p, 0.1);
  const auto other =
      read({"--eval-temperature", "0", "--eval-top-p", "0.5", "--eval-top-k", "3",
            "--eval-max-response-len", "8", "--eval-min-p", "0.5", "--eval-min-response-len", "6"})
          .evaluation_sampling(config);
  EXPECT_EQ(other.temperature, 0);
  EXPECT_EQ(other.top_p, 0.5);
  EXPECT_EQ(other.top_k, 3);
  EXPECT_EQ(other.min_p, 0.5);
  EXPECT_EQ(other.min_response_tokens, 6);
  EXPECT_EQ(other.max_response_tokens, 8);
}

TEST(RolloutOptions, engine_flags_are_read) {
  const auto options =
      read({"--sglang-server-concurrency", "33", "--sglang-chunked-prefill-size", "44",
            "--kv-cache-bytes", "55", "--rollout-seed", "66", "--pause-generation-mode", "in_place",
            "--sglang-disable-radix-cache"});
  EXPECT_TRUE(options.disable_radix_cache);
  EXPECT_EQ(options.concurrency, 33);
  EXPECT_EQ(options.prefill_tokens, 44);
  EXPECT_EQ(options.kv_cache_bytes, 55);
  EXPECT_EQ(options.seed, 66);
  EXPECT_EQ(options.pause_generation_mode, PauseGenerationMode::in_place);
}

/// What the user is told; it must begin with the flag.
std::string refusal(const std::string& flag, const std::string& value) {
  try {
    (void)read({flag, value});
  } catch (const base::UserError& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(RolloutOptions, nonsense_is_a_user_error_that_names_the_flag) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> wrong = {
      {"--rollout-temperature", {"0", "-1", "nan", "inf", "1e-300", "warm"}},
      {"--eval-temperature", {"-1", "nan", "inf", "1e-300"}},
      {"--rollout-top-p", {"0", "-0.5", "1.5", "nan"}},
      {"--eval-top-p", {"0", "-0.5", "1.5", "nan"}},
      {"--rollout-top-k", {"0", "-2", "1.5"}},
      {"--eval-top-k", {"0", "-2", "1.5"}},
      {"--rollout-min-p", {"-0.1", "1.1", "nan"}},
      {"--eval-min-p", {"-0.1", "1.1", "nan"}},
      {"--rollout-nucleus-limit", {"-1", "1.5", "nan"}},
      {"--rollout-top-logprobs-num", {"-1", "1025", "nan"}},
      {"--rollout-repetition-penalty", {"0", "-1", "nan", "inf", "1e-300"}},
      {"--rollout-presence-penalty", {"-2.5", "3", "nan", "inf"}},
      {"--rollout-frequency-penalty", {"-2.5", "3", "nan", "-inf"}},
      {"--rollout-stop",
       {std::string(1001, 'x'), std::string(10240, 'x'), R"([""])", "\xff", "[END]",
        "[1,2,3,4,5,6,7,8]",
        "['1','2','3','4','5','6','7','8','9','10','11','12','13','14','15','16','17']"}},
      {"--rollout-min-response-len", {"-1", "1.5", "nan"}},
      {"--kv-cache-bytes", {"0", "-1", "1.5"}},
      {"--sglang-mem-fraction-static", {"0", "-0.1", "1.1", "nan"}},
      {"--eval-min-response-len", {"-1", "1.5", "nan"}},
  };
  for (const auto& [flag, values] : wrong) {
    for (const auto& value : values) {
      EXPECT_TRUE(refusal(flag, value).starts_with(flag + ": ")) << refusal(flag, value);
      EXPECT_LT(refusal(flag, value).size(), 200U);
    }
  }
}

TEST(RolloutOptions, a_struct_that_no_flag_has_checked_is_checked_too) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (double RolloutOptions::*field :
       {&RolloutOptions::temperature, &RolloutOptions::top_p, &RolloutOptions::min_p,
        &RolloutOptions::repetition_penalty, &RolloutOptions::presence_penalty,
        &RolloutOptions::frequency_penalty}) {
    for (const double value : {nan, -3.0, std::numeric_limits<double>::infinity()}) {
      RolloutOptions options;
      options.*field = value;
      EXPECT_THROW(options.validate(), base::UserError);
    }
  }
}

TEST(RolloutOptions, what_does_not_fit_the_model_is_a_user_error) {
  const auto config = small_config();
  EXPECT_THROW(read({"--rollout-max-context-len", "129"}).validate(config), base::UserError);
  EXPECT_THROW(read({"--rollout-max-prompt-len", "128"}).validate(config), base::UserError);
  EXPECT_THROW(read({"--rollout-stop-token-ids", "70"}).validate(config), base::UserError);
  EXPECT_THROW(read({"--rollout-stop-token-ids", "-1"}).validate(config), base::UserError);
  EXPECT_NO_THROW(read({"--rollout-max-context-len", "128"}).validate(config));
  EXPECT_NO_THROW(read({"--rollout-min-response-len", "127"}).validate(config));
  EXPECT_THROW(read({"--rollout-min-response-len", "128"}).validate(config), base::UserError);
  EXPECT_THROW(
      read({"--eval-min-response-len", "9", "--eval-max-response-len", "8"}).validate(config),
      base::UserError);
}

TEST(RolloutOptions, a_cache_that_holds_no_sequence_is_refused_with_what_is_needed) {
  const auto config = small_config();
  // Nine blocks of 16 tokens, 2 layers, 2 heads, keys and values of 8 floats.
  const std::int64_t least = 9 * 16 * 2 * 2 * (8 + 8) * 4;
  const auto options = read({"--kv-cache-bytes", std::to_string(least - 1)});
  try {
    options.validate(config);
    ADD_FAILURE() << "it was not refused";
  } catch (const base::UserError& error) {
    EXPECT_NE(std::string(error.what()).find("take " + std::to_string(least) + " bytes"),
              std::string::npos)
        << error.what();
  }
  EXPECT_NO_THROW(read({"--kv-cache-bytes", std::to_string(least)}).validate(config));
  EXPECT_EQ(read({}).least_cache_bytes(config), least);
}

TEST(RolloutOptions, a_share_of_the_memory_is_for_weights_keys_and_values) {
  const auto config = small_config();
  const auto options = read({"--sglang-mem-fraction-static", "0.5"});
  EXPECT_NO_THROW(options.validate(config));
  EXPECT_EQ(options.cache_bytes(config, {.usable_bytes = 2'000'000, .weight_bytes = 300'000}),
            700'000);
  EXPECT_EQ(read({}).cache_bytes(config, {.usable_bytes = 2'000'000, .weight_bytes = 300'000}),
            default_kv_cache_bytes);
  const auto needed = options.least_cache_bytes(config);
  EXPECT_EQ(options.cache_bytes(config, {2 * (needed + 5), 5}), needed);
  EXPECT_THROW((void)options.cache_bytes(config, {2 * (needed + 5), 6}), base::UserError);
  EXPECT_THROW(read({"--sglang-mem-fraction-static", "0.5", "--kv-cache-bytes", "1000000"}),
               base::UserError);
}

TEST(RolloutOptions, an_answer_that_can_only_be_stopped_has_no_shortest_length) {
  auto config = small_config();
  config.vocab_size = 3;
  config.eos_token_ids = {0, 1};
  auto options = read({"--rollout-stop-token-ids", "2"});
  EXPECT_NO_THROW(options.validate(config));
  options.min_response_len = 1;
  EXPECT_THROW(options.validate(config), base::UserError);
}

}  // namespace
}  // namespace physarum::rollout
