#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace physarum::app {

/// What a run may change when it goes on from a checkpoint.
enum class ResumeRule {
  free,  ///< names, places, rank counts, what decides only how fast or how often something is done
  length,  ///< ... of the run: free if the learning rate does not follow from it
  same,    ///< makes the numbers: may differ only where the user names it in --allow-changed
  fixed,   ///< gives groups, samples and random numbers their identity: with another value it is
           ///< another run, whatever the user allows
};

/// Keys of the configuration with this rule. Each key has exactly one.
[[nodiscard]] const std::vector<std::string>& keys_with(ResumeRule rule);

/// Nothing for a key without a rule, which nobody has thought about.
[[nodiscard]] std::optional<ResumeRule> resume_rule(std::string_view key);

}  // namespace physarum::app
