#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "physarum/text/tokenizer.hpp"

#include "physarum/sample/lease.hpp"
#include "physarum/sample/sample_group.hpp"

#include "physarum/environment/prompt_encoder.hpp"
#include "physarum/environment/registry.hpp"

#include "physarum/rollout/decode_engine.hpp"

namespace physarum::rollout {

/// A lease on its way to a complete group: turns answers of the engine into samples, and samples
/// that were begun under another lease into requests.
class LeaseWork {
 public:
  /// Makes the prompt's tokens, if an answer is to be generated.
  LeaseWork(sample::Lease lease, const environment::PromptEncoder& encoder);

  [[nodiscard]] const sample::Lease& lease() const { return lease_; }
  [[nodiscard]] std::int64_t prompt_tokens() const {
    return static_cast<std::int64_t>(prompt_.size());
  }
  /// Prompt and stop tokens are tokens of the model.
  [[nodiscard]] bool fits_vocabulary(std::int64_t vocab_size) const;
  [[nodiscard]] bool generates() const { return lease_.purpose != sample::Purpose::supervised; }
  /// Weights stay as they are while it is in flight.
  [[nodiscard]] bool holds_weights() const {
    return generates() && lease_.rule == sample::VersionRule::exactly;
  }
  /// Answers first, first + 1 ... of the group, from their prompt on.
  [[nodiscard]] GenerateRequest request(std::int64_t first, std::int64_t count) const;
  /// Takes over what the lease has of an earlier one, once, when weights fit and the prompt can be
  /// answered: finished samples are stored as they are; the others are to be generated, each
  /// behind the tokens that it has. `room`: most tokens of a response. What does not fit (another
  /// tokenizer or other limits than then) begins again.
  [[nodiscard]] std::vector<GenerateRequest> take_over(std::int64_t room, std::int64_t vocab_size);
  [[nodiscard]] bool owns(base::SampleId id) const;

  /// One answer is done; it was not aborted.
  void add(Generated answer, const text::Tokenizer& tokenizer,
           const environment::EnvironmentRegistry& environments);
  /// The answers are what there is to learn; what does not fit the context is cut off.
  void add_lesson(const environment::PromptEncoder& encoder, const text::Tokenizer& tokenizer,
                  base::TokenId end);
  /// No answer can be generated: all samples are of this status, with the prompt alone. `why`: of
  /// failed ones, kept as their evidence.
  void give_up(sample::SampleStatus status, std::string_view why = {});

  /// The lease is recalled: `unfinished` are its answers in the engine, with what they have.
  /// Samples that never got there go back as they came. The group is complete afterwards, unless
  /// it was before, and has aborted samples.
  void stop(std::vector<Generated> unfinished);

  [[nodiscard]] bool complete() const { return missing_ == 0; }
  [[nodiscard]] sample::SampleGroup take_group();
  /// Seconds in verifiers.
  [[nodiscard]] double verify_s() const { return verify_s_; }

 private:
  [[nodiscard]] sample::Sample sample_at(std::int64_t index) const;
  [[nodiscard]] bool is_stored(std::int64_t index) const;
  [[nodiscard]] bool fits(const sample::Sample& begun, std::int64_t room,
                          std::int64_t vocab_size) const;
  [[nodiscard]] sample::Sample sample_of(Generated answer) const;
  void adopt(sample::Sample finished);
  void store(sample::Sample sample);
  static void fail(sample::Sample& sample, std::string_view why);

  sample::Lease lease_;
  std::vector<base::TokenId> prompt_;
  std::vector<sample::Sample> samples_;
  std::int64_t missing_;
  double verify_s_ = 0;
};

}  // namespace physarum::rollout
