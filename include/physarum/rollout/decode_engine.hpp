#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "physarum/base/ids.hpp"
#include "physarum/base/token_sets.hpp"

#include "physarum/text/tokenizer.hpp"

#include "physarum/sample/sample.hpp"
#include "physarum/sample/sampling_options.hpp"

#include "physarum/weights/image.hpp"

#include "physarum/model/config.hpp"

#include "physarum/rollout/options.hpp"

namespace physarum::rollout {

/// Whether sequences share the keys and values of the tokens that they begin with.
enum class PrefixReuse { off, on };

/// What an engine may hold at a time.
struct EngineLimits {
  std::int64_t context_tokens = 2048;     ///< prompt and answer of one sequence
  std::int64_t sequences = 512;           ///< running together
  std::int64_t prefill_tokens = 1024;     ///< prompt tokens read in one step
  std::int64_t kv_cache_bytes = 1 << 30;  ///< keys and values; taken when first needed
  int threads = 1;                        ///< that compute; results are the same for any number
  PrefixReuse prefix_reuse = PrefixReuse::on;  ///< results are the same with and without
};

enum class Ending {
  stopped,    ///< by a stop token, which is the last token
  matched,    ///< by a stop string, which ends in the last token (perhaps not with it)
  truncated,  ///< by a limit of tokens
  aborted,    ///< by new weights (PauseGenerationMode::abort), or by give_up()
  failed,     ///< the model's logits were not finite
};

struct Generated {
  base::SampleId id;
  std::vector<base::TokenId> response;
  /// Of each token under softmax(logits / temperature) over its nucleus, if that is recorded, else
  /// over all tokens, whatever the other options made of the distribution that it was drawn from;
  /// with temperature 0 under softmax(logits).
  std::vector<float> log_probs;
  /// The ids that each token was drawn from; none at all unless sampling.records_nuclei().
  base::TokenSets nuclei;
  /// sampling.top_log_probs of each token.
  sample::TopLogProbs top_log_probs;
  std::vector<sample::VersionRun> versions;
  Ending ending = Ending::stopped;
  double seconds = 0;  ///< from the first work on its prompt
};

/// Answers to one prompt.
struct GenerateRequest {
  std::vector<base::TokenId> prompt;  ///< at least one token
  base::SampleId first_sample;        ///< the i-th answer is drawn from the numbers of this id + i
  std::int64_t n_samples = 1;
  sample::SamplingOptions sampling;
  /// None, or one for each answer: response, log_probs, nuclei, top_log_probs, versions and seconds
  /// that it has already (perhaps none). It goes on behind them, with the random number of its next
  /// position.
  std::vector<Generated> begun = {};
};

struct EngineStatistics {
  std::int64_t steps = 0;
  std::int64_t prompt_tokens = 0;     ///< read, repetitions included
  std::int64_t reused_tokens = 0;     ///< not read: a sequence before had begun with the same
  std::int64_t generated_tokens = 0;  ///< drawn, tokens of aborted answers included
  std::int64_t weight_swaps = 0;
  std::int64_t most_running = 0;     ///< sequences at a time
  std::int64_t preemptions = 0;      ///< answers that gave their memory to older ones for a while
  std::int64_t nuclei = 0;           ///< recorded
  std::int64_t nucleus_ids = 0;      ///< in them
  std::int64_t narrowed_nuclei = 0;  ///< that SamplingOptions::nucleus_limit made smaller
  double busy_s = 0;                 ///< in step()
  double swap_s = 0;                 ///< in set_weights()
};

/// Generates with continuous batching: sequences join and leave between steps, each
/// step reads some prompts and adds a token to every running sequence. A prompt is read once for
/// all its answers.
///
/// The tokens and log-probabilities of an answer depend on weights, prompt, sampling options, seed
/// and sample id alone: they have the same bits whatever else is in the batch, in whatever order
/// requests come, and whether keys and values were computed in decoding or by reading again.
///
/// Blocks of sequences that have ended stay until their memory is needed: a later prompt that
/// begins with the same tokens (the next turn of a conversation, an answer that is resumed) is read
/// from where it differs. New weights end that.
///
/// A sequence takes cache blocks as it grows. When there are none left, the youngest gives its own
/// back and waits; its tokens stay and are read again later. The oldest is never stopped.
class DecodeEngine {
 public:
  /// `seed`: of sampling. `tokenizer`: what says the text of answers; only requests with stop
  /// strings need it. The engine has no weights yet. Throws UserError if the cache cannot hold one
  /// sequence of context_tokens.
  DecodeEngine(const model::ModelConfig& config, const EngineLimits& limits, std::uint64_t seed,
               std::optional<text::Tokenizer> tokenizer = std::nullopt);
  ~DecodeEngine();
  DecodeEngine(const DecodeEngine&) = delete;
  DecodeEngine& operator=(const DecodeEngine&) = delete;
  DecodeEngine(DecodeEngine&&) noexcept;
  DecodeEngine& operator=(DecodeEngine&&) noexcept;

  /// Takes the weights of a valid image (its catalogue is that of tensor_specs(config)). Copies;
  /// the image can change afterwards. Sequences without tokens yet start with the new weights in
  /// every mode. In mode abort the others are part of the next step's result.
  void set_weights(const weights::Image& image, PauseGenerationMode mode);
  /// Invalid before the first set_weights().
  /// Work for a coming set_weights() of this image that can be done while sequences go on, about so
  /// many bytes of it: finds what differs, so that the pause sets no more than that. True when
  /// nothing is left to do. The image stays as it is until then.
  bool prepare_weights(const weights::Image& image, std::int64_t budget_bytes);
  /// The first tensor and element of an image that the weights in use do not have bit for bit;
  /// nothing if they have all. Reads all weights.
  [[nodiscard]] std::optional<std::string> difference(const weights::Image& image) const;
  [[nodiscard]] base::WeightVersion version() const;

  /// Most tokens that an answer to a prompt of this length may have; 0: there is no room for one.
  [[nodiscard]] std::int64_t response_room(std::int64_t prompt_tokens,
                                           const sample::SamplingOptions& sampling) const;
  /// Queues a request, whose response_room() is at least 1 and more than any answer has already,
  /// and whose token ids are all in the vocabulary. Works on requests in the order in which they
  /// came.
  void add(GenerateRequest request);
  /// Stops those of the answers first, first + 1, ... that have not ended, and returns them with
  /// what they have (Ending::aborted). A request with it among `begun` goes on there: under the
  /// same weights to the same bits as if nothing had been.
  [[nodiscard]] std::vector<Generated> give_up(base::SampleId first, std::int64_t n_samples);
  /// Does one step; there are weights. Returns the sequences that ended.
  [[nodiscard]] std::vector<Generated> step();
  /// Gives up everything.
  void clear();

  /// Sequences that were added and have not ended.
  [[nodiscard]] std::int64_t unfinished() const;
  /// Further sequences that can run together with these.
  [[nodiscard]] std::int64_t free_sequences() const;
  [[nodiscard]] const EngineStatistics& statistics() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace physarum::rollout
