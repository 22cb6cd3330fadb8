#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "physarum/base/ids.hpp"

#include "physarum/sample/lease.hpp"

namespace physarum::sample {

/// A run of response tokens that one weight version made.
struct VersionRun {
  base::WeightVersion version;
  std::int64_t tokens = 0;
  friend bool operator==(const VersionRun&, const VersionRun&) = default;
};

/// How the reward came about.
struct Evidence {
  std::string verifier;
  std::int64_t verifier_version = 0;
  std::uint64_t input_hash = 0;  ///< of what the verifier saw
  std::string verdict;           ///< JSON object text: each signal and what it said
  double seconds = 0;
  friend bool operator==(const Evidence&, const Evidence&) = default;
};

enum class SampleStatus : std::uint8_t {
  pending,
  completed,  ///< ended by a stop token
  truncated,  ///< ended by a limit of tokens
  aborted,
  failed,  ///< could not be generated; never trained
};

/// One answer to a prompt.
struct Sample {
  base::SampleId id;
  base::GroupId group;
  base::PromptId prompt;
  base::LeaseId lease;
  std::int64_t index_in_group = 0;
  std::int64_t prompt_tokens = 0;
  std::vector<base::TokenId> tokens;  ///< prompt, then response
  std::vector<float>
      log_probs;  ///< one per response token, of the policy that drew it; 0 if untrained
  std::vector<std::uint8_t> mask;    ///< one per response token; 1: trained
  std::vector<VersionRun> versions;  ///< their tokens sum up to the response
  double reward = 0;
  SampleStatus status = SampleStatus::pending;
  bool removed = false;  ///< counts in the group's normalisation, not in the loss
  std::string response;  ///< decoded text
  std::string label;
  Evidence evidence;
  double generation_s = 0;
  std::vector<base::LeaseId> lease_history;

  [[nodiscard]] std::int64_t response_tokens() const {
    return static_cast<std::int64_t>(tokens.size()) - prompt_tokens;
  }
  /// Response tokens that the loss sees.
  [[nodiscard]] std::int64_t trained_tokens() const;
  [[nodiscard]] base::WeightVersion oldest_version() const;
  [[nodiscard]] base::WeightVersion newest_version() const;
  friend bool operator==(const Sample&, const Sample&) = default;
};

}  // namespace physarum::sample
