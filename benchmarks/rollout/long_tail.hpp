#pragma once

#include <cstdint>
#include <vector>

#include "physarum/weights/image.hpp"

#include "physarum/model/config.hpp"

#include "physarum/rollout/decode_engine.hpp"

#include "buffer/circle.hpp"

namespace physarum::rollout {

/// Response lengths as reasoning models have them: log-normal, the 99th percentile 20 times the
/// median, cut at 40 times the median. A function of the sample's id.
class LongTail {
 public:
  LongTail(std::int64_t median, std::uint64_t seed) : median_(median), seed_(seed) {}
  [[nodiscard]] std::int64_t length(base::SampleId id) const;
  [[nodiscard]] std::int64_t longest() const { return 40 * median_; }

 private:
  std::int64_t median_;
  std::uint64_t seed_;
};

/// Distance of two samples' empirical distributions (Kolmogorov and Smirnov).
[[nodiscard]] double ks_distance(std::vector<std::int64_t> a, std::vector<std::int64_t> b);
/// The distance that two samples of one distribution exceed with probability 0.05.
[[nodiscard]] double ks_limit(std::size_t a, std::size_t b);

/// What a step with so many rows (a token of a running answer, or a token that is read) takes:
/// measured with SmolLM2-135M in bf16 on one thread of a Zen 5 (125, 673, 714 and 676 tokens/s at
/// 1, 8, 32 and 64 sequences behind 128 tokens), straight lines between.
[[nodiscard]] double step_seconds(std::int64_t rows);

/// Steps of 8 groups of 4 samples. With over-sampling 10 groups at a time: where an answer that
/// goes on is read again, which costs as much as decoding it, more of them cost more than they
/// bring. `in_place` keeps keys and values, and takes 12.
enum class Form { plain, discarding, partial, in_place };
[[nodiscard]] buffer::testing::CircleOptions circle_options(Form form, std::int64_t steps);

/// Every sample that a circle has learnt from, once; throws if one was learnt from twice.
[[nodiscard]] std::vector<sample::Sample> trained(const buffer::testing::Circle& circle,
                                                  std::int64_t first_step, std::int64_t end_step);

/// The real engine with a random model in such a circle, on lengths that are given: each answer
/// ends by its limit of tokens. One decode step a turn.
class MeasuredEngine : public buffer::testing::Actor {
 public:
  MeasuredEngine(exchange::Transport& transport, std::vector<base::WorldRank> buffers,
                 const LongTail& lengths, std::int64_t room, PauseGenerationMode mode);
  void turn(std::int64_t now) override;
  [[nodiscard]] bool finished() const override { return client_.finished(); }

 private:
  struct Work {
    sample::Lease lease;
    sample::SampleGroup group;
  };
  void follow_weights();
  void begin(sample::Lease lease);
  void stop(const exchange::Recall& recall);
  void take(Generated answer, sample::SampleStatus status);
  [[nodiscard]] Work& work_of(base::SampleId id);
  exchange::WorkClient client_;
  model::ModelConfig config_;
  weights::Image image_;
  DecodeEngine engine_;
  const LongTail& lengths_;
  std::int64_t room_;
  PauseGenerationMode mode_;
  std::vector<Work> working_;
};

}  // namespace physarum::rollout
