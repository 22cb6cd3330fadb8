#include "physarum/rollout/rollout_worker.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "physarum/base/hash.hpp"

#include "physarum/parallel/layout.hpp"
#include "physarum/parallel/wait.hpp"

#include "physarum/sample/wire.hpp"

#include "physarum/weights/weight_exchange.hpp"

#include "physarum/model/parameter_store.hpp"

#include "rollout/scripted_head.hpp"
#include "support/mpi_test.hpp"

namespace physarum::rollout {
namespace {

using test::world;

base::Deadline soon() { return base::Deadline::in(60); }

model::ModelConfig worker_config() {
  auto config = model::ModelConfig::from_file(std::filesystem::path(PHYSARUM_INPUTS) /
                                              "model-small/config.json");
  config.hidden_size = 32;
  config.num_hidden_layers = 2;
  config.head_dim = 8;
  config.intermediate_size = 64;
  config.initializer_range = 0.3;
  config.max_position_embeddings = 100;
  return config;
}

parallel::RankLayout colocated_plan() {
  parallel::LayoutOptions options;
  options.colocate = true;
  return parallel::RankLayout::plan(world().size(), options);
}

/// Every rank trains and has an engine with a head of its own; weights come over real windows.
class Worker : public testing::Test {
 protected:
  Worker()
      : layout_(world(), colocated_plan()),
        catalogue_(
            weights::make_catalogue(model::tensor_specs(config_), weights::TransferType::bf16)),
        exchange_(
            weights::WeightExchange::make(weights::members_of(layout_), catalogue_, {}, soon())),
        hook_([this] { return exchange_.store() != nullptr && exchange_.store()->advance(); }) {
    options_.max_response_len = 20;
    options_.concurrency = 16;
  }
  void TearDown() override {
    worker_.reset();
    world().barrier(soon());
    exchange_.close();
    layout_.close();
  }

  /// Collective. The weights of a version are random, by its number.
  void publish(std::int64_t version) {
    model::ParameterStore store(config_, model::Gradients::none);
    model::initialise(config_, static_cast<std::uint64_t>(version), store.values());
    exchange_.publisher()->publish(base::WeightVersion(version), store.values(), soon());
    head_.announce(version);
  }
  /// Collective. Weights that give no finite logits.
  void publish_broken(std::int64_t version) {
    const model::ParameterStore shape(config_, model::Gradients::none);
    const std::vector<float> values(shape.values().size(), std::numeric_limits<float>::quiet_NaN());
    exchange_.publisher()->publish(base::WeightVersion(version), values, soon());
    head_.announce(version);
  }
  sample::Lease lease_of(std::int64_t group, std::int64_t n_samples, std::int64_t version) {
    sample::Lease lease;
    lease.id = base::LeaseId(1000 + group);
    lease.group = base::GroupId(group);
    lease.prompt = prompts_->at(group);
    lease.n_samples = n_samples;
    lease.first_sample = base::SampleId(group * n_samples);
    lease.version = base::WeightVersion(version);
    lease.sampling = options_.training_sampling(config_);
    lease.history = {base::LeaseId(7)};
    return lease;
  }
  RolloutWorker& worker() {
    if (!worker_) {
      worker_.emplace(RolloutPartners{.work = head_.client(),
                                      .puller = *exchange_.puller(),
                                      .catalogue = catalogue_,
                                      .model = config_,
                                      .tokenizer = tokenizer_,
                                      .prompts = encoder_,
                                      .environments = environments_,
                                      .seed = 42},
                      options_);
    }
    return *worker_;
  }
  void turn() {
    head_.serve();
    (void)worker().advance();
    parallel::serve_hooks();
  }
  void turns(int count) {
    for (int i = 0; i < count; ++i) turn();
  }
  /// Until so many groups have come back.
  void run_to(std::size_t groups) {
    const auto deadline = soon();
    while (head_.groups().size() < groups) {
      ASSERT_FALSE(deadline.expired()) << head_.groups().size() << " groups came";
      turn();
    }
  }
  [[nodiscard]] std::string text_of(const sample::Sample& sample, std::int64_t tokens) const {
    return tokenizer_.decode(std::span(sample.tokens)
                                 .subspan(static_cast<std::size_t>(sample.prompt_tokens),
                                          static_cast<std::size_t>(tokens)));
  }
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
  const sample::Sample& sample_of(std::int64_t group, std::size_t index = 0) {
    return head_.groups().at(group).samples.at(index);
  }

  model::ModelConfig config_ = worker_config();
  text::Tokenizer tokenizer_ = text::Tokenizer::from_file(std::filesystem::path(PHYSARUM_INPUTS) /
                                                          "model-small/tokenizer.json");
  environment::PromptEncoder encoder_{tokenizer_};
  environment::EnvironmentRegistry environments_ = environment::make_environments({}, 5);
  std::unique_ptr<sample::PromptSource> prompts_ =
      environments_.fallback().prompts(environment::Split::train);
  RolloutOptions options_;
  ScriptedHead head_;
  parallel::Layout layout_;
  weights::CataloguePtr catalogue_;
  weights::WeightExchange exchange_;
  parallel::ProgressHook hook_;
  std::optional<RolloutWorker> worker_;
};

TEST_F(Worker, answers_leases_with_complete_groups) {
  publish(0);
  for (std::int64_t group = 0; group < 6; ++group) head_.lend(lease_of(group, 4, 0));
  run_to(6);
  for (const auto& [id, group] : head_.groups()) {
    EXPECT_FALSE(sample::find_fault(group).has_value());
    ASSERT_EQ(group.samples.size(), 4U);
    for (const auto& sample : group.samples) {
      EXPECT_EQ(sample.prompt, base::PromptId(id));
      EXPECT_EQ(sample.label, prompts_->at(id).label);
      EXPECT_EQ(sample.lease_history,
                (std::vector<base::LeaseId>{base::LeaseId(7), base::LeaseId(1000 + id)}));
      const auto verdict = environments_.verify(prompts_->at(id), sample.response);
      EXPECT_EQ(sample.reward, verdict.reward);
      EXPECT_EQ(sample.evidence.verifier, verdict.evidence.verifier);
      EXPECT_EQ(sample.evidence.verdict, verdict.evidence.verdict);
      EXPECT_EQ(sample.oldest_version(), base::WeightVersion(0));
      EXPECT_EQ(sample.trained_tokens(), sample.response_tokens());
      const auto end = sample.tokens.back();
      EXPECT_EQ(sample.status == sample::SampleStatus::completed, end == 510);
      EXPECT_TRUE(end == 510 || sample.response_tokens() == 20);
    }
  }
  const auto figures = worker().statistics();
  EXPECT_EQ(figures.at("rollout/groups"), 6);
  EXPECT_GT(figures.at("rollout/tokens_per_s"), 0);
  EXPECT_EQ(figures.at("rollout/pulls"), 1);
}

/// What must not depend on timing, of all groups.
std::uint64_t digest_of(const std::map<std::int64_t, sample::SampleGroup>& groups) {
  base::ByteWriter out;
  for (auto [id, group] : groups) {
    for (auto& sample : group.samples) {
      sample.generation_s = 0;
      sample.evidence.seconds = 0;
    }
    sample::write(out, group);
  }
  return base::hash64(out.take());
}

TEST_F(Worker, groups_have_the_same_bits_on_every_rank_and_in_every_batch) {
  options_.concurrency = 3 + 7 * world().rank();
  options_.prefill_tokens = 5 + world().rank();
  publish(0);
  for (std::int64_t group = 0; group < 6; ++group) head_.lend(lease_of(group, 3, 0));
  run_to(6);
  const auto digest = digest_of(head_.groups());
  for (const auto other : world().all_gather(digest, soon())) EXPECT_EQ(other, digest);
}

TEST_F(Worker, samples_have_the_ids_that_their_tokens_were_drawn_from) {
  options_.top_p = 0.8;
  options_.nucleus_limit = 20;
  publish(0);
  for (std::int64_t group = 0; group < 3; ++group) head_.lend(lease_of(group, 4, 0));
  run_to(3);
  std::int64_t ids = 0;
  for (const auto& [id, group] : head_.groups()) {
    EXPECT_FALSE(sample::find_fault(group).has_value());
    for (const auto& sample : group.samples) {
      EXPECT_EQ(sample.nuclei.size(), sample.response_tokens());
      ids += std::ssize(sample.nuclei.ids);
    }
  }
  EXPECT_GT(ids, 0);
  const auto figures = worker().statistics();
  EXPECT_EQ(figures.at("rollout/nucleus_ids"), ids);
  EXPECT_GT(figures.at("rollout/narrowed_nuclei"), 0);
  const auto digest = digest_of(head_.groups());
  for (const auto other : world().all_gather(digest, soon())) EXPECT_EQ(other, digest);
}

TEST_F(Worker, waits_for_the_version_of_a_lease) {
  publish(0);
  head_.lend(lease_of(0, 2, 1));
  turns(50);
  EXPECT_TRUE(head_.groups().empty());
  publish(1);
  run_to(1);
  EXPECT_EQ(sample_of(0).oldest_version(), base::WeightVersion(1));
}

TEST_F(Worker, goes_on_with_new_weights_where_leases_allow_it) {
  publish(0);
  auto lease = lease_of(0, 2, 0);
  lease.sampling.stop_token_ids.clear();
  head_.lend(lease);
  turns(12);
  ASSERT_TRUE(head_.groups().empty());
  publish(1);
  run_to(1);
  EXPECT_EQ(sample_of(0).versions.size(), 2U);
  EXPECT_EQ(sample_of(0).oldest_version(), base::WeightVersion(0));
  EXPECT_EQ(sample_of(0).newest_version(), base::WeightVersion(1));
  EXPECT_EQ(worker().statistics().at("rollout/weight_swaps"), 2);
}

TEST_F(Worker, abort_starts_answers_again_with_new_weights) {
  options_.pause_generation_mode = PauseGenerationMode::abort;
  publish(0);
  auto lease = lease_of(0, 3, 0);
  lease.sampling.stop_token_ids.clear();
  head_.lend(lease);
  turns(12);
  publish(1);
  run_to(1);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(sample_of(0, i).oldest_version(), base::WeightVersion(1));
    EXPECT_EQ(sample_of(0, i).response_tokens(), 20);
  }
}

TEST_F(Worker, keeps_weights_while_a_lease_wants_exactly_these) {
  publish(0);
  auto lease = lease_of(0, 2, 0);
  lease.rule = sample::VersionRule::exactly;
  lease.sampling.stop_token_ids.clear();
  head_.lend(lease);
  turns(12);
  publish(1);
  auto next = lease_of(1, 2, 1);
  next.rule = sample::VersionRule::exactly;
  head_.lend(next);
  run_to(2);
  EXPECT_EQ(sample_of(0).newest_version(), base::WeightVersion(0));
  EXPECT_EQ(sample_of(1).oldest_version(), base::WeightVersion(1));
}

TEST_F(Worker, gives_a_lease_back_whose_weights_are_gone) {
  for (std::int64_t version = 0; version < 9; ++version) publish(version);
  auto lease = lease_of(0, 2, 0);
  lease.rule = sample::VersionRule::exactly;
  head_.lend(lease);
  run_to(1);
  EXPECT_TRUE(head_.groups().at(0).has_aborted());
}

TEST_F(Worker, gives_a_lease_back_that_wants_older_weights_than_it_has) {
  publish(0);
  publish(1);
  head_.lend(lease_of(0, 2, 1));
  run_to(1);
  auto lease = lease_of(1, 2, 0);
  lease.rule = sample::VersionRule::exactly;
  head_.lend(lease);
  run_to(2);
  EXPECT_TRUE(head_.groups().at(1).has_aborted());
}

TEST_F(Worker, a_recalled_group_goes_on_to_the_same_bits) {
  publish(0);
  auto lease = lease_of(0, 4, 0);
  lease.sampling.min_response_tokens = 12;
  lease.sampling.top_log_probs = 2;
  head_.lend(lease);
  run_to(1);
  // The same prompt and samples under another group's number would be other samples: the group is
  // lent again, and recalled when it has some tokens.
  const auto whole = head_.groups().at(0);
  head_.forget(0);
  lease.id = base::LeaseId(2000);
  head_.lend(lease);
  std::size_t recalls = 0;
  while (head_.groups().empty() && recalls < 3) {
    turns(6);
    head_.recall(lease.id, exchange::RecallForm::hand_back);
    turns(4);
    if (head_.returned().empty()) break;
    const auto& back = head_.returned().at(0);
    EXPECT_TRUE(back.has_aborted());
    EXPECT_EQ(back.lease, lease.id);
    for (std::size_t i = 0; i < 4; ++i) {
      const auto& begun = back.samples[i];
      ASSERT_LE(begun.tokens.size(), whole.samples[i].tokens.size());
      EXPECT_TRUE(
          std::equal(begun.tokens.begin(), begun.tokens.end(), whole.samples[i].tokens.begin()));
    }
    lease.history.push_back(lease.id);
    lease.id = base::LeaseId(lease.id.value() + 1);
    lease.begun = back.samples;
    ++recalls;
    head_.lend(lease);
  }
  run_to(1);
  EXPECT_GT(recalls, 0U);
  EXPECT_EQ(worker().statistics().at("rollout/handed_back_groups"), static_cast<double>(recalls));
  const auto& group = head_.groups().at(0);
  EXPECT_EQ(group.lease, lease.id);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto &now = group.samples[i], &then = whole.samples[i];
    EXPECT_EQ(now.tokens, then.tokens);
    EXPECT_EQ(now.log_probs, then.log_probs);
    EXPECT_EQ(now.top_log_probs, then.top_log_probs);
    EXPECT_EQ(now.top_log_probs.per_token(now.response_tokens()), 2);
    EXPECT_EQ(now.mask, then.mask);
    EXPECT_EQ(now.versions, then.versions);
    EXPECT_EQ(now.status, then.status);
    EXPECT_EQ(now.response, then.response);
    EXPECT_EQ(now.reward, then.reward);
    EXPECT_EQ(now.lease_history.back(), lease.id);
  }
}

TEST_F(Worker, finished_members_of_a_recalled_group_are_not_made_again) {
  publish(0);
  auto lease = lease_of(0, 2, 0);
  lease.sampling.stop_token_ids.clear();
  head_.lend(lease);
  run_to(1);
  const auto whole = head_.groups().at(0);
  head_.forget(0);
  // As if the second had been given up after 5 of its 20 tokens.
  lease.begun = whole.samples;
  auto& begun = lease.begun[1];
  begun.tokens.resize(static_cast<std::size_t>(begun.prompt_tokens) + 5);
  begun.log_probs.resize(5);
  begun.mask.resize(5);
  begun.versions = {{base::WeightVersion(0), 5}};
  begun.status = sample::SampleStatus::aborted;
  const auto made = worker().statistics().at("rollout/generated_tokens");
  lease.id = base::LeaseId(2000);
  head_.lend(lease);
  run_to(1);
  EXPECT_EQ(worker().statistics().at("rollout/generated_tokens") - made, 15);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(sample_of(0, i).tokens, whole.samples[i].tokens);
    EXPECT_EQ(sample_of(0, i).log_probs, whole.samples[i].log_probs);
    EXPECT_EQ(sample_of(0, i).lease, lease.id);
  }
}

TEST_F(Worker, a_group_of_another_prompt_or_length_begins_again) {
  publish(0);
  auto lease = lease_of(0, 2, 0);
  head_.lend(lease);
  run_to(1);
  const auto whole = head_.groups().at(0);
  for (const bool other_prompt : {true, false}) {
    head_.forget(0);
    lease.begun = whole.samples;
    auto& begun = lease.begun[1];
    begun.status = sample::SampleStatus::aborted;
    if (other_prompt) {
      begun.tokens.front() += 1;
    } else {
      begun.tokens.resize(static_cast<std::size_t>(begun.prompt_tokens) + 20, 3);
      begun.log_probs.assign(20, -1);
      begun.mask.assign(20, 1);
      begun.versions = {{base::WeightVersion(0), 20}};
    }
    lease.id = base::LeaseId(lease.id.value() + 1000);
    head_.lend(lease);
    run_to(1);
    for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(sample_of(0, i).tokens, whole.samples[i].tokens);
  }
}

TEST_F(Worker, a_group_with_another_number_of_top_log_probs_begins_again) {
  publish(0);
  auto lease = lease_of(0, 2, 0);
  lease.sampling.top_log_probs = 2;
  head_.lend(lease);
  run_to(1);
  const auto whole = head_.groups().at(0);
  head_.forget(0);
  lease.begun = whole.samples;
  lease.begun[1].status = sample::SampleStatus::aborted;
  lease.sampling.top_log_probs = 3;
  lease.id = base::LeaseId(lease.id.value() + 1000);
  head_.lend(lease);
  run_to(1);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto& now = sample_of(0, i);
    EXPECT_EQ(now.tokens, whole.samples[i].tokens);
    EXPECT_EQ(now.top_log_probs.per_token(now.response_tokens()), 3);
  }
}

TEST_F(Worker, a_dropped_lease_is_forgotten) {
  publish(0);
  auto lease = lease_of(0, 2, 0);
  lease.sampling.stop_token_ids.clear();
  head_.lend(lease);
  auto waiting = lease_of(2, 2, 5);  // its version never comes
  head_.lend(waiting);
  turns(8);
  head_.recall(lease.id, exchange::RecallForm::drop);
  head_.recall(waiting.id, exchange::RecallForm::drop);
  turns(40);
  EXPECT_TRUE(head_.groups().empty());
  EXPECT_TRUE(head_.returned().empty());
  EXPECT_EQ(head_.client().leases_in_flight(), 0);
  head_.lend(lease_of(1, 2, 0));
  run_to(1);
  EXPECT_TRUE(head_.groups().contains(1));
}

TEST_F(Worker, evaluation_takes_the_likeliest_tokens) {
  options_.eval_temperature = 0;
  publish(0);
  auto lease = lease_of(0, 3, 0);
  lease.purpose = sample::Purpose::evaluate;
  lease.sampling = options_.evaluation_sampling(config_);
  head_.lend(lease);
  run_to(1);
  EXPECT_EQ(head_.groups().at(0).purpose, sample::Purpose::evaluate);
  EXPECT_EQ(sample_of(0, 0).tokens, sample_of(0, 1).tokens);
  EXPECT_EQ(sample_of(0, 0).log_probs, sample_of(0, 2).log_probs);
}

TEST_F(Worker, supervised_answers_are_labels_and_need_no_weights) {
  auto lease = lease_of(0, 1, 0);
  lease.purpose = sample::Purpose::supervised;
  lease.prompt.text = "7+5=";
  lease.prompt.label = "12";
  head_.lend(lease);
  run_to(1);
  const auto& sample = sample_of(0);
  EXPECT_EQ(tokenizer_.decode(sample.tokens), "7+5=12");
  EXPECT_EQ(sample.tokens.back(), 510);
  EXPECT_EQ(sample.mask, (std::vector<std::uint8_t>(3, 1)));
  EXPECT_TRUE(sample.log_probs.empty());
  EXPECT_EQ(sample.status, sample::SampleStatus::completed);
}

TEST_F(Worker, supervised_answers_are_cut_at_the_context) {
  auto lease = lease_of(0, 1, 0);
  lease.purpose = sample::Purpose::supervised;
  lease.prompt.text = "7+5=";
  lease.prompt.label = "1234";
  lease.sampling.max_context_tokens = 6;
  head_.lend(lease);
  run_to(1);
  EXPECT_EQ(tokenizer_.decode(sample_of(0).tokens), "7+5=12");
  EXPECT_EQ(sample_of(0).status, sample::SampleStatus::truncated);
}

TEST_F(Worker, a_prompt_that_does_not_fit_fails_and_is_counted) {
  options_.max_prompt_len = 30;
  publish(0);
  auto lease = lease_of(0, 2, 0);
  lease.prompt.text = std::string(31, '1');
  head_.lend(lease);
  lease = lease_of(1, 2, 0);
  lease.prompt.text = "";
  head_.lend(lease);
  head_.lend(lease_of(2, 2, 0));
  run_to(3);
  for (const std::int64_t group : {0, 1}) {
    EXPECT_EQ(sample_of(group).status, sample::SampleStatus::failed);
    EXPECT_TRUE(sample_of(group).removed);
    EXPECT_EQ(sample_of(group).response_tokens(), 0);
    EXPECT_EQ(sample_of(group).evidence.verifier, "engine");
  }
  EXPECT_EQ(sample_of(0).evidence.verdict,
            R"({"failed": "the prompt of 31 tokens is not answered: it is longer than )"
            R"(--rollout-max-prompt-len or the context allows"})");
  EXPECT_NE(sample_of(1).evidence.verdict.find("it has no tokens"), std::string::npos);
  EXPECT_NE(sample_of(2).status, sample::SampleStatus::failed);
  EXPECT_EQ(worker().statistics().at("rollout/failed_samples"), 4);
  // The two that were asked.
  EXPECT_EQ(worker().statistics().at("rollout/answers"), 2);
  EXPECT_GT(worker().statistics().at("rollout/answering_s"), 0);
}

TEST_F(Worker, a_stop_string_and_its_last_token_stay_in_the_sample) {
  // Of the last byte of a token and the first of the next, which has more: it ends inside.
  expect_stopped([this](std::span<const base::TokenId> three) -> std::string {
    const auto before = tokenizer_.token_bytes(three[1]);
    const auto last = tokenizer_.token_bytes(three[2]);
    if (before.empty() || last.size() < 2 || !is_ascii(before.back()) || !is_ascii(last.front()))
      return {};
    return {before.back(), last.front()};
  });
}

TEST_F(Worker, special_tokens_do_not_interrupt_a_stop_string) {
  expect_stopped([this](std::span<const base::TokenId> three) -> std::string {
    const auto before = tokenizer_.token_bytes(three[0]);
    const auto after = tokenizer_.token_bytes(three[2]);
    const bool special = tokenizer_.is_special(three[1]);
    if (!special || tokenizer_.is_special(three[0]) || tokenizer_.is_special(three[2])) return {};
    if (!is_ascii(before.back()) || !is_ascii(after.front())) return {};
    return std::string(1, before.back()) + std::string(after);
  });
}

TEST_F(Worker, stop_tokens_beyond_the_vocabulary_fail_the_prompt) {
  publish(0);
  auto lease = lease_of(0, 2, 0);
  lease.sampling.stop_token_ids = {512};
  head_.lend(lease);
  run_to(1);
  EXPECT_EQ(sample_of(0).status, sample::SampleStatus::failed);
  EXPECT_NE(sample_of(0).evidence.verdict.find("beyond the model's vocabulary"), std::string::npos);
}

TEST_F(Worker, gives_up_when_samples_fail_in_a_row) {
  std::int64_t group = 0;
  const auto lend = [&](std::int64_t samples, std::int64_t version) {
    for (std::int64_t i = 0; i < samples; i += 4) head_.lend(lease_of(group++, 4, version));
  };
  const auto finish = [&] { run_to(static_cast<std::size_t>(group)); };
  publish_broken(0);
  lend(60, 0);
  finish();
  EXPECT_EQ(sample_of(14).status, sample::SampleStatus::failed);
  EXPECT_TRUE(sample_of(14).removed);
  EXPECT_EQ(sample_of(14).evidence.verdict, R"({"failed": "the logits are not finite"})");
  // A good one between them, and the row begins anew.
  publish(1);
  lend(4, 1);
  finish();
  publish_broken(2);
  lend(60, 2);
  finish();
  EXPECT_EQ(worker().statistics().at("rollout/failed_samples"), 120);
  EXPECT_TRUE(head_.alarms().empty());
  lend(8, 2);
  const auto deadline = soon();
  while (head_.alarms().empty() && !deadline.expired()) turn();
  turns(20);
  ASSERT_EQ(head_.alarms().size(), 1U);
  EXPECT_NE(head_.alarms().front().find("weight version 2 "), std::string::npos);
  // It does nothing more, and ends with the run.
  const auto groups = head_.groups().size();
  lend(4, 2);
  turns(20);
  EXPECT_EQ(head_.groups().size(), groups);
  head_.end();
  turns(5);
  EXPECT_TRUE(worker().finished());
}

TEST_F(Worker, drops_everything_when_the_run_is_over) {
  publish(0);
  head_.lend(lease_of(0, 2, 0));
  turns(5);
  head_.end();
  turns(5);
  EXPECT_TRUE(worker().finished());
  EXPECT_FALSE(worker().advance());
  EXPECT_TRUE(head_.groups().empty());
}

}  // namespace
}  // namespace physarum::rollout
