#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "physarum/base/philox.hpp"

#include "physarum/rollout/decode_engine.hpp"

#include "block_pool.hpp"
#include "decoder.hpp"
#include "engine_weights.hpp"
#include "prefix_cache.hpp"
#include "sampler.hpp"
#include "sequence.hpp"

namespace physarum::rollout {

/// Rows whose logits are computed together: bounds the memory of large vocabularies.
inline constexpr std::int64_t logit_rows = 96;

class DecodeEngine::Impl {
 public:
  Impl(const model::ModelConfig& config, const EngineLimits& limits, std::uint64_t seed,
       std::optional<text::Tokenizer> tokenizer);

  void set_weights(const weights::Image& image, PauseGenerationMode mode);
  bool prepare_weights(const weights::Image& image, std::int64_t budget_bytes) {
    return weights_.prepare(image, budget_bytes);
  }
  [[nodiscard]] std::optional<std::string> difference(const weights::Image& image) const {
    return weights_.difference(image);
  }
  [[nodiscard]] base::WeightVersion version() const { return weights_.version(); }
  [[nodiscard]] std::int64_t response_room(std::int64_t prompt_tokens,
                                           const sample::SamplingOptions& sampling) const;
  void add(GenerateRequest request);
  [[nodiscard]] std::vector<Generated> give_up(base::SampleId first, std::int64_t n_samples);
  [[nodiscard]] std::vector<Generated> step();
  void clear();
  [[nodiscard]] std::int64_t unfinished() const { return unfinished_; }
  [[nodiscard]] std::int64_t free_sequences() const;
  [[nodiscard]] const EngineStatistics& statistics() const { return statistics_; }

 private:
  /// Whose next token comes from a wanted row: one answer, or (null) all answers of the group that
  /// have none yet.
  struct Draw {
    AnswerGroup* group;
    Answer* answer;
  };
  /// One token of one answer, and what drawing it has shown.
  struct Turn {
    AnswerGroup* group;
    Answer* answer;
    const float* logits;
    bool failed = false;  ///< nothing could be drawn
    bool narrowed = false;
    std::int64_t nucleus_ids = 0;  ///< that were recorded
  };

  // admission.cpp
  void admit();
  [[nodiscard]] bool admit(AnswerGroup& group, Answer& answer);
  void join(AnswerGroup& group, Answer& answer);
  void leave(AnswerGroup& group, Answer& answer);
  [[nodiscard]] bool make_room(AnswerGroup& group, Answer& answer);
  bool take_back_from_youngest(const AnswerGroup* group, const Answer* answer);
  void preempt(AnswerGroup& group, Answer& answer);
  void stop(AnswerGroup& group);
  void drop_blocks(AnswerGroup& group);
  [[nodiscard]] std::int64_t own_blocks(const AnswerGroup& group, const Answer& answer) const;
  void retract();
  void keep_in_place();
  void abort_running();
  void send_back(AnswerGroup& group, Answer& answer);

  // prefix_reuse.cpp
  [[nodiscard]] bool shares_prefixes() const { return limits_.prefix_reuse == PrefixReuse::on; }
  [[nodiscard]] std::int64_t known_tokens(const AnswerGroup& group, const Answer& answer,
                                          base::WeightVersion version) const;
  [[nodiscard]] base::WeightVersion version_of_beginning(const AnswerGroup& group) const;
  void find_prompt(AnswerGroup& group);
  void hold_for(AnswerGroup& group, PrefixBlock& block);
  void show_prompt(AnswerGroup& group);
  void share_prompt(AnswerGroup& group);
  void find_answer(AnswerGroup& group, Answer& answer);
  void show_answer(AnswerGroup& group, Answer& answer);
  void release_held(std::vector<PrefixBlock*>& held);

  // decode_step.cpp
  void plan_rows();
  void plan_prompt(AnswerGroup& group);
  void plan_answer(AnswerGroup& group, Answer& answer);
  void add_rows(AnswerGroup& group, const Answer& answer, std::vector<float*>& blocks,
                std::int64_t first, std::int64_t count);
  [[nodiscard]] std::int64_t prefill_budget(std::int64_t wanted);
  void draw_tokens();
  void plan_turns(const Draw& draw, const float* logits);
  void draw_together();
  void draw_next(Sampler& sampler, Turn& turn) const;
  void note(const Turn& turn);
  [[nodiscard]] static Shaping shaping_of(const AnswerGroup& group, const Answer& answer);
  [[nodiscard]] std::optional<Ending> ending_of(const AnswerGroup& group, Answer& answer) const;
  [[nodiscard]] bool completes_stop_string(const AnswerGroup& group, Answer& answer) const;
  void end(AnswerGroup& group, Answer& answer, Ending ending);
  void remove_ended_groups();

  model::ModelConfig config_;
  EngineLimits limits_;
  base::RandomStream stream_;
  std::optional<text::Tokenizer> tokenizer_;
  EngineWeights weights_;
  Decoder decoder_;
  BlockPool pool_;
  PrefixCache prefixes_{pool_};
  Sampler sampler_;                       ///< of the calling thread
  std::vector<Sampler> other_samplers_ =  ///< of the team's other threads
      std::vector<Sampler>(static_cast<std::size_t>(limits_.threads - 1), sampler_);
  std::vector<std::unique_ptr<AnswerGroup>> groups_;  ///< in the order in which they came
  std::int64_t unfinished_ = 0;
  std::int64_t running_ = 0;
  bool blocked_ = false;  ///< an answer found no room in the last step
  std::vector<Generated> ended_;
  // Of the step that is being made.
  std::vector<TokenRow> rows_;
  std::vector<std::int64_t> wanted_;
  std::vector<Draw> draws_;
  std::vector<Turn> turns_;  ///< of the rows whose logits are there
  std::int64_t prefill_left_ = 0;
  EngineStatistics statistics_;
};

}  // namespace physarum::rollout
