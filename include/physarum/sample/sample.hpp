#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "physarum/base/token_sets.hpp"

#include "physarum/sample/ids.hpp"
#include "physarum/sample/purpose.hpp"
#include "physarum/sample/top_log_probs.hpp"

namespace physarum::sample {

/// A run of response tokens that one weight version made.
struct VersionRun {
  WeightVersion version;
  std::int64_t tokens = 0;
  friend bool operator==(const VersionRun&, const VersionRun&) = default;
};

/// How the reward came about: enough to repeat the verdict.
struct Evidence {
  std::string verifier;
  std::int64_t verifier_version = 0;
  std::uint64_t input_hash = 0;  ///< of what the verifier saw
  std::string verdict;           ///< JSON object text: each signal and what it said
  double seconds = 0;
  friend bool operator==(const Evidence&, const Evidence&) = default;
};

enum class SampleStatus : std::uint8_t {
  pending,    ///< never stored
  completed,  ///< ended by a stop token
  truncated,  ///< ended by a limit of tokens
  aborted,    ///< given up by its engine before it was finished: its group is lent again
  failed,     ///< could not be generated or judged; never trained: also `removed`
};

/// One answer to a prompt. The response is everything after the prompt.
struct Sample {
  SampleId id;
  GroupId group;
  PromptId prompt;
  LeaseId lease;
  std::int64_t index_in_group = 0;
  std::int64_t prompt_tokens = 0;
  std::vector<TokenId> tokens;  ///< prompt, then response
  /// One per response token, of the policy that drew it; 0 if untrained; none if supervised.
  std::vector<float> log_probs;
  /// The ids that a response token was drawn from where top-k, top-p or min-p had cut the others
  /// off: its log-prob, and all that training computes of it, is of the softmax over them. One set
  /// per response token, or none at all.
  base::TokenSets nuclei;
  TopLogProbs top_log_probs;         ///< none if not asked for, or supervised
  std::vector<std::uint8_t> mask;    ///< one per response token; 1: trained
  std::vector<VersionRun> versions;  ///< their tokens sum up to the response
  double reward = 0;
  SampleStatus status = SampleStatus::pending;
  bool removed = false;  ///< counts in the group's normalisation, not in the loss
  std::string response;  ///< decoded text
  std::string label;
  Evidence evidence;
  double generation_s = 0;
  std::vector<LeaseId> lease_history;  ///< the lease's history, then the lease

  [[nodiscard]] std::int64_t response_tokens() const {
    return static_cast<std::int64_t>(tokens.size()) - prompt_tokens;
  }
  /// Response tokens that the loss sees: ones in the mask, 0 if removed.
  [[nodiscard]] std::int64_t trained_tokens() const;
  /// Of all runs; invalid if there are none.
  [[nodiscard]] WeightVersion oldest_version() const;
  [[nodiscard]] WeightVersion newest_version() const;
  friend bool operator==(const Sample&, const Sample&) = default;
};

/// Tokens of weights older than `version` are not trained: mask and log-prob 0.
void mask_older_than(Sample& sample, WeightVersion version);

/// Says what is wrong with a sample that is about to be stored, if anything: ids, lengths, values
/// of the mask, log-probs (finite and not positive on trained tokens, 0 on others; none at all if
/// supervised), nuclei (rising ids that the token is among; none if supervised), top log-probs
/// (equally many for each token, falling, none below a trained token's own that comes first; none
/// if supervised), versions' tokens summing up, a final status, a finite reward.
[[nodiscard]] std::optional<std::string> find_fault(const Sample& sample, Purpose purpose);

}  // namespace physarum::sample
