#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
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

#include "physarum/rollout/rollout_worker.hpp"

#include "rollout/scripted_head.hpp"
#include "support/mpi_test.hpp"
#include "weights/noted_publisher.hpp"

namespace physarum::rollout {

using test::soon;

inline model::ModelConfig worker_config() {
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

inline parallel::RankLayout colocated_plan() {
  parallel::LayoutOptions options;
  options.colocate = true;
  return parallel::RankLayout::plan(test::world().size(), options);
}

/// Every rank trains and has an engine with a head of its own; weights come over real windows.
class Worker : public testing::Test {
 protected:
  Worker()
      : layout_(test::world(), colocated_plan()),
        catalogue_(
            weights::make_catalogue(model::tensor_specs(config_), weights::TransferType::bf16)),
        exchange_(
            weights::WeightExchange::make(weights::members_of(layout_), catalogue_, {}, soon())),
        hook_([this] { return exchange_.store() != nullptr && exchange_.store()->advance(); }) {
    publisher_.emplace(*exchange_.publisher());
    options_.max_response_len = 20;
    options_.concurrency = 16;
  }
  void TearDown() override {
    worker_.reset();
    test::world().barrier(soon());
    exchange_.close();
    layout_.close();
  }

  /// Collective. The weights of a version are random, by its number.
  void publish(std::int64_t version) {
    model::ParameterStore store(config_, model::Gradients::none);
    model::initialise(config_, static_cast<std::uint64_t>(version), store.values());
    publisher_->publish(base::WeightVersion(version), store.values(), soon());
    head_.announce(version);
  }
  /// Collective. Weights that give no finite logits.
  void publish_broken(std::int64_t version) {
    const model::ParameterStore shape(config_, model::Gradients::none);
    const std::vector<float> values(shape.values().size(), std::numeric_limits<float>::quiet_NaN());
    publisher_->publish(base::WeightVersion(version), values, soon());
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
  std::optional<weights::test::NotedPublisher> publisher_;
  parallel::ProgressHook hook_;
  std::optional<RolloutWorker> worker_;
};

/// What must not depend on timing, of all groups.
inline std::uint64_t digest_of(const std::map<std::int64_t, sample::SampleGroup>& groups) {
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

}  // namespace physarum::rollout
