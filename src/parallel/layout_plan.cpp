#include "physarum/base/error.hpp"
#include "physarum/base/narrow.hpp"

#include "physarum/parallel/layout.hpp"

namespace physarum::parallel {

using base::UserError;

namespace {
std::string ranks_text(std::int64_t count) {
  return std::to_string(count) + (count == 1 ? " rank" : " ranks");
}

void refuse_negative(const char* flag, std::int64_t value) {
  if (value < 0) {
    throw UserError("a rank count cannot be negative: " + std::to_string(value), flag,
                    "give 0 or more");
  }
}

std::vector<int> count_up(int first, int count) {
  std::vector<int> ranks;
  for (int i = 0; i < count; ++i) ranks.push_back(first + i);
  return ranks;
}

std::string span_text(int first, int count) {
  if (count == 0) return "none";
  std::string text = std::to_string(first);
  if (count > 1) text += "-" + std::to_string(first + count - 1);
  return text;
}
}  // namespace

void LayoutOptions::validate() const {
  if (buffer_ranks < 1) {
    throw UserError("there must be at least one buffer rank, not " + std::to_string(buffer_ranks),
                    "--buffer-ranks", "leave it out for 1");
  }
  if (trainer_ranks) refuse_negative("--trainer-ranks", *trainer_ranks);
  if (rollout_ranks) refuse_negative("--rollout-ranks", *rollout_ranks);
  if (colocate && (trainer_ranks || rollout_ranks)) {
    throw UserError("with --colocate every rank is trainer and rollout, so they cannot be counted",
                    trainer_ranks ? "--trainer-ranks" : "--rollout-ranks",
                    "leave it out, or leave out --colocate");
  }
}

std::string_view LayoutOptions::split_flag() const {
  if (tensor_model_parallel_size > 1) return "--tensor-model-parallel-size";
  if (pipeline_model_parallel_size > 1) return "--pipeline-model-parallel-size";
  if (expert_model_parallel_size > 1) return "--expert-model-parallel-size";
  if (expert_tensor_parallel_size.value_or(1) > 1) return "--expert-tensor-parallel-size";
  if (rollout_num_gpus_per_engine > 1) return "--rollout-num-gpus-per-engine";
  return {};
}

RankLayout RankLayout::plan(int world_size, const LayoutOptions& options,
                            const LayoutNeeds& needs) {
  options.validate();
  return options.colocate ? plan_colocated(world_size, options)
                          : plan_separate(world_size, options, needs);
}

RankLayout RankLayout::plan_colocated(int world_size, const LayoutOptions& options) {
  if (options.buffer_ranks > world_size) {
    throw UserError("there are " + ranks_text(world_size) + " but " +
                        std::to_string(options.buffer_ranks) + " shall be buffer too",
                    "--buffer-ranks", "start more ranks (jobs/launch -n) or give fewer");
  }
  RankLayout plan;
  plan.world_size_ = world_size;
  plan.colocated_ = true;
  plan.buffer_ = {0, base::narrow<int>(options.buffer_ranks)};
  plan.trainer_ = plan.rollout_ = {0, world_size};
  return plan;
}

RankLayout RankLayout::plan_separate(int world_size, const LayoutOptions& options,
                                     const LayoutNeeds& needs) {
  const std::int64_t trainers = options.trainer_ranks.value_or(needs.trainer_ranks > 0 ? 1 : 0);
  const std::int64_t taken = options.buffer_ranks + trainers;
  const std::int64_t rollouts = options.rollout_ranks.value_or(
      std::max<std::int64_t>(world_size - taken, needs.rollout_ranks));
  const std::string asked = "buffer " + std::to_string(options.buffer_ranks) + " + trainer " +
                            std::to_string(trainers) + " + rollout " + std::to_string(rollouts);
  if (trainers < needs.trainer_ranks) {
    throw UserError("this command needs at least " + ranks_text(needs.trainer_ranks) + " to train",
                    "--trainer-ranks", "give more, or leave it out");
  }
  if (rollouts < needs.rollout_ranks) {
    throw UserError(
        "this command needs at least " + ranks_text(needs.rollout_ranks) + " to generate",
        "--rollout-ranks", "give more, or leave it out");
  }
  const std::int64_t sum = taken + rollouts;
  if (sum > world_size) {
    throw UserError(asked + " ranks do not fit into " + ranks_text(world_size),
                    "--trainer-ranks, --rollout-ranks, --buffer-ranks",
                    "start " + std::to_string(sum) + " ranks (jobs/launch -n " +
                        std::to_string(sum) + "), or share ranks with --colocate");
  }
  if (sum < world_size) {
    throw UserError(asked + " ranks leave " + std::to_string(world_size - sum) + " of " +
                        ranks_text(world_size) + " without work",
                    "--trainer-ranks, --rollout-ranks, --buffer-ranks",
                    "start " + std::to_string(sum) + " ranks, or leave out --rollout-ranks");
  }
  RankLayout plan;
  plan.world_size_ = world_size;
  plan.buffer_ = {0, base::narrow<int>(options.buffer_ranks)};
  plan.trainer_ = {plan.buffer_.count, base::narrow<int>(trainers)};
  plan.rollout_ = {base::narrow<int>(taken), base::narrow<int>(rollouts)};
  return plan;
}

bool RankLayout::is_buffer(int rank) const noexcept { return buffer_.contains(rank); }
bool RankLayout::is_trainer(int rank) const noexcept { return trainer_.contains(rank); }
bool RankLayout::is_rollout(int rank) const noexcept { return rollout_.contains(rank); }

std::vector<int> RankLayout::buffer_ranks() const { return count_up(buffer_.first, buffer_.count); }
std::vector<int> RankLayout::trainer_ranks() const {
  return count_up(trainer_.first, trainer_.count);
}
std::vector<int> RankLayout::rollout_ranks() const {
  return count_up(rollout_.first, rollout_.count);
}

std::string RankLayout::role_name(int rank) const {
  std::string name;
  const auto add = [&name](bool has, const char* role) {
    if (has) name += (name.empty() ? "" : "+") + std::string(role);
  };
  add(is_buffer(rank), "buffer");
  add(is_trainer(rank), "trainer");
  add(is_rollout(rank), "rollout");
  return name;
}

std::string RankLayout::describe() const {
  return ranks_text(world_size_) + (colocated_ ? " (colocated)" : "") + ": buffer " +
         span_text(buffer_.first, buffer_.count) + ", trainer " +
         span_text(trainer_.first, trainer_.count) + ", rollout " +
         span_text(rollout_.first, rollout_.count);
}

}  // namespace physarum::parallel
