#include "sampler.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "physarum/base/contracts.hpp"

#include "physarum/model/decode_kernels.hpp"

namespace physarum::rollout {

namespace {
constexpr auto chunk = model::exp_chunk;

std::size_t as_size(std::int64_t value) { return static_cast<std::size_t>(value); }

bool can_be_drawn_from(const model::ExpSum& sums) {
  return std::isfinite(sums.top) && std::isfinite(sums.sum) && sums.sum > 0;
}
}  // namespace

Sampler::Sampler(std::int64_t vocab_size)
    : vocab_size_(vocab_size),
      exponentials_(as_size(vocab_size)),
      chunk_sums_(as_size((vocab_size + chunk - 1) / chunk)),
      likeliest_(vocab_size) {}

DrawnToken Sampler::draw(const float* logits, const sample::SamplingOptions& options,
                         double uniform, const Shaping& shaping) {
  const bool greedy = options.temperature == 0;
  const float scale = greedy ? 1.0F : static_cast<float>(1.0 / options.temperature);
  const auto sum_up = [&](const float* of) {
    return model::decode_kernels().exponentials(of, vocab_size_, scale, exponentials_.data(),
                                                chunk_sums_.data());
  };
  const auto sums = sum_up(logits);
  if (!can_be_drawn_from(sums)) return {};
  auto drawn_from = sums;
  const float* choice = logits;
  if (!shaping.changes_nothing()) {
    choice = shaped(logits, options, shaping);
    drawn_from = sum_up(choice);
    if (!can_be_drawn_from(drawn_from)) return {};
  }
  const bool all = (options.top_k < 0 || options.top_k >= vocab_size_) && options.top_p >= 1 &&
                   options.min_p <= 0;
  DrawnToken drawn;
  if (greedy || all) {
    drawn.token =
        greedy ? likeliest(choice, drawn_from.top) : draw_from_all(uniform * drawn_from.sum);
  } else {
    likeliest_.keep(exponentials_, options);
    drawn.token = likeliest_.draw(uniform);
    drawn.narrowed = likeliest_.narrowed();
    // A set of all tokens need not be written down.
    if (options.records_nuclei() && likeliest_.size() < vocab_size_) {
      drawn.nucleus = likeliest_.ids();
    }
  }
  const Distribution distribution = {
      logits, vocab_size_, drawn.nucleus, scale,
      drawn.nucleus.empty() ? sums : sums_of(drawn.nucleus, logits, scale)};
  drawn.log_prob = model::log_prob_of(logits[drawn.token], scale, distribution.sums);
  if (options.top_log_probs > 0) {
    top_.find(distribution, options.top_log_probs);
    drawn.top_ids = top_.ids();
    drawn.top_log_probs = top_.log_probs();
  }
  return drawn;
}

const float* Sampler::shaped(const float* logits, const sample::SamplingOptions& options,
                             const Shaping& shaping) {
  shaped_.assign(logits, logits + vocab_size_);
  if (shaping.seen != nullptr) penalise(*shaping.seen, options, shaped_.data());
  for (const auto token : shaping.forbidden) {
    shaped_[static_cast<std::size_t>(token)] = -std::numeric_limits<float>::infinity();
  }
  return shaped_.data();
}

/// `top` is the largest logit; its exponential is 1, so a chunk with less does not hold it.
base::TokenId Sampler::likeliest(const float* logits, float top) const {
  for (std::size_t c = 0; c < chunk_sums_.size(); ++c) {
    if (chunk_sums_[c] < 1.0F) continue;
    const float* begin = logits + c * as_size(chunk);
    const float* end = logits + std::min(as_size(vocab_size_), (c + 1) * as_size(chunk));
    const auto* found = std::find(begin, end, top);
    if (found != end) return static_cast<base::TokenId>(found - logits);
  }
  base::ensures(false, "some token is the likeliest");
  return -1;
}

base::TokenId Sampler::draw_from_all(double target) const {
  double mass = 0;
  std::size_t c = 0;
  for (; c + 1 < chunk_sums_.size(); ++c) {
    const double next = mass + static_cast<double>(chunk_sums_[c]);
    if (next > target) break;
    mass = next;
  }
  const auto end = std::min(as_size(vocab_size_), (c + 1) * as_size(chunk));
  auto drawn = end - 1;
  for (std::size_t i = c * as_size(chunk); i < end; ++i) {
    if (exponentials_[i] <= 0.0F) continue;
    // The chunk's sum was added up in another order, so the last token with mass is taken even if
    // the target is a rounding error behind it.
    drawn = i;
    mass += static_cast<double>(exponentials_[i]);
    if (mass > target) break;
  }
  return static_cast<base::TokenId>(drawn);
}

/// Side by side in the order of the ids, as the trainer's model scores them.
model::ExpSum Sampler::sums_of(std::span<const base::TokenId> nucleus, const float* logits,
                               float scale) {
  gathered_.resize(nucleus.size());
  std::ranges::transform(nucleus, gathered_.begin(), [=](base::TokenId id) { return logits[id]; });
  return model::decode_kernels().exponentials(gathered_.data(), std::ssize(gathered_), scale,
                                              exponentials_.data(), chunk_sums_.data());
}

}  // namespace physarum::rollout
