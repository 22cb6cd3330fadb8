#pragma once

#include <cstdint>
#include <string>

#include "physarum/sample/ids.hpp"

namespace physarum::sample {

/// What is asked, and what the verifier needs to judge the answer. It is asked either as a text or
/// as a conversation; the other one is empty.
struct Prompt {
  PromptId id;              ///< row in its source
  std::string text;         ///< UTF-8; tokenised by the engine
  std::string messages;     ///< JSON array of {"role": ..., "content": ...}, for a chat template
  std::string tools;        ///< JSON array of what the conversation may call; empty: nothing
  std::string label;        ///< reference answer; empty if there is none
  std::string metadata;     ///< JSON object text; empty means {}
  std::string environment;  ///< name of the environment that verifies
  friend bool operator==(const Prompt&, const Prompt&) = default;
};

/// Where prompts come from: a file, or a procedure. Immutable; any thread. Only the head buffer
/// rank draws from it; order and epochs are the buffer's business.
class PromptSource {
 public:
  PromptSource() = default;
  virtual ~PromptSource() = default;
  PromptSource(const PromptSource&) = delete;
  PromptSource& operator=(const PromptSource&) = delete;
  PromptSource(PromptSource&&) = delete;
  PromptSource& operator=(PromptSource&&) = delete;

  /// Number of different prompts, at least 1; a procedure may name a very large number.
  [[nodiscard]] virtual std::int64_t size() const = 0;
  /// The prompt in row `index`, 0 <= index < size(); its id is the index. The same every time.
  [[nodiscard]] virtual Prompt at(std::int64_t index) const = 0;
};

}  // namespace physarum::sample
