#include "physarum/rollout/decode_engine.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "physarum/base/contracts.hpp"
#include "physarum/base/deadline.hpp"

#include "cache_size.hpp"
#include "decode_engine_impl.hpp"

namespace physarum::rollout {

namespace {
/// A step has hardly ever more; where it may, memory is taken then.
constexpr std::int64_t usual_rows = 4096;
}  // namespace

DecodeEngine::Impl::Impl(const model::ModelConfig& config, const EngineLimits& limits,
                         std::uint64_t seed, std::optional<text::Tokenizer> tokenizer)
    : config_(config),
      limits_(limits),
      stream_(seed, base::StreamKind::sampling),
      tokenizer_(std::move(tokenizer)),
      weights_(config),
      decoder_(config, limits.context_tokens, limits.threads),
      pool_(decoder_.cache_shape().block_floats(), limits.kv_cache_bytes),
      sampler_(config.vocab_size) {
  base::expects(limits.sequences >= 1 && limits.prefill_tokens >= 1, "an engine without room");
  // Both limits may be huge, and their sum too large for a number.
  decoder_.reserve(
      std::min(std::min(limits.prefill_tokens, usual_rows) + std::min(limits.sequences, usual_rows),
               usual_rows),
      std::min(limits.sequences, logit_rows));
  const auto needed = cache_bytes_for(config, limits.context_tokens);
  if (limits.kv_cache_bytes < needed) {
    throw base::UserError("keys and values of one sequence take " + std::to_string(needed) +
                              " bytes, more than there are",
                          "--kv-cache-bytes", "give more, or a smaller --rollout-max-context-len");
  }
}

void DecodeEngine::Impl::set_weights(const weights::Image& image, PauseGenerationMode mode) {
  const base::Stopwatch watch;
  weights_.load(image);
  switch (mode) {
    case PauseGenerationMode::abort:
      abort_running();
      break;
    case PauseGenerationMode::retract:
      retract();
      break;
    case PauseGenerationMode::in_place:
      keep_in_place();
      break;
  }
  ++statistics_.weight_swaps;
  statistics_.swap_s += watch.seconds();
}

std::int64_t DecodeEngine::Impl::response_room(std::int64_t prompt_tokens,
                                               const sample::SamplingOptions& sampling) const {
  const auto context = std::min(limits_.context_tokens, sampling.max_context_tokens);
  const auto room = std::min(sampling.max_response_tokens, context - prompt_tokens);
  return prompt_tokens < 1 ? 0 : std::max<std::int64_t>(room, 0);
}

void DecodeEngine::Impl::add(GenerateRequest request) {
  const auto room =
      response_room(static_cast<std::int64_t>(request.prompt.size()), request.sampling);
  base::expects(room >= 1, "a prompt that leaves no room for an answer");
  base::expects(all_below(request.prompt, config_.vocab_size) &&
                    all_below(request.sampling.stop_token_ids, config_.vocab_size),
                "token ids beyond the vocabulary");
  base::expects(request.sampling.stop_strings.empty() || tokenizer_.has_value(),
                "stop strings without a tokenizer");
  base::expects(request.n_samples >= 1 && request.first_sample.valid(), "a request for no answers");
  base::expects(request.begun.empty() || std::ssize(request.begun) == request.n_samples,
                "what was begun is given for all answers or for none");
  base::expects(
      std::ranges::all_of(request.begun,
                          [&](const Generated& answer) {
                            const auto tokens = std::ssize(answer.response);
                            return tokens < room &&
                                   std::ssize(answer.top_log_probs.ids) ==
                                       tokens * request.sampling.top_log_probs &&
                                   all_below(answer.response, config_.vocab_size);
                          }),
      "an answer that was begun is too long, has ids beyond the vocabulary or another number of "
      "top log-probs");
  unfinished_ += request.n_samples;
  groups_.push_back(make_group(std::move(request), room));
  const auto& group = *groups_.back();
  if (!group.stops) return;
  for (auto& answer : groups_.back()->answers) {
    for (const auto token : answer.result.response) {
      if (!tokenizer_->is_special(token))
        (void)group.stops->advance(tokenizer_->token_bytes(token), answer.stop_progress);
    }
  }
}

std::int64_t DecodeEngine::Impl::free_sequences() const {
  return blocked_ ? 0 : std::max<std::int64_t>(limits_.sequences - unfinished_, 0);
}

DecodeEngine::DecodeEngine(const model::ModelConfig& config, const EngineLimits& limits,
                           std::uint64_t seed, std::optional<text::Tokenizer> tokenizer)
    : impl_(std::make_unique<Impl>(config, limits, seed, std::move(tokenizer))) {}
DecodeEngine::~DecodeEngine() = default;
DecodeEngine::DecodeEngine(DecodeEngine&&) noexcept = default;
DecodeEngine& DecodeEngine::operator=(DecodeEngine&&) noexcept = default;

void DecodeEngine::set_weights(const weights::Image& image, PauseGenerationMode mode) {
  impl_->set_weights(image, mode);
}
bool DecodeEngine::prepare_weights(const weights::Image& image, std::int64_t budget_bytes) {
  return impl_->prepare_weights(image, budget_bytes);
}
std::optional<std::string> DecodeEngine::difference(const weights::Image& image) const {
  return impl_->difference(image);
}
base::WeightVersion DecodeEngine::version() const { return impl_->version(); }
std::int64_t DecodeEngine::response_room(std::int64_t prompt_tokens,
                                         const sample::SamplingOptions& sampling) const {
  return impl_->response_room(prompt_tokens, sampling);
}
void DecodeEngine::add(GenerateRequest request) { impl_->add(std::move(request)); }
std::vector<Generated> DecodeEngine::step() { return impl_->step(); }
std::vector<Generated> DecodeEngine::give_up(base::SampleId first, std::int64_t n_samples) {
  return impl_->give_up(first, n_samples);
}
void DecodeEngine::clear() { impl_->clear(); }
std::int64_t DecodeEngine::unfinished() const { return impl_->unfinished(); }
std::int64_t DecodeEngine::free_sequences() const { return impl_->free_sequences(); }
const EngineStatistics& DecodeEngine::statistics() const { return impl_->statistics(); }

}  // namespace physarum::rollout
