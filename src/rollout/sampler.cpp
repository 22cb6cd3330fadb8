#include "sampler.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

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
      candidates_(as_size(vocab_size)) {}

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
  drawn.token = greedy ? likeliest(choice)
                : all  ? draw_from_all(uniform * drawn_from.sum)
                       : draw_from_likeliest(options, uniform);
  drawn.log_prob = model::log_prob_of(logits[drawn.token], scale, sums);
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

base::TokenId Sampler::likeliest(const float* logits) const {
  return static_cast<base::TokenId>(std::max_element(logits, logits + vocab_size_) - logits);
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

/// Tokens with less cannot be among the fewest with the share top-p, as all of them together have
/// less than the rest; half of that, for rounding.
double Sampler::smallest_of_nucleus(const sample::SamplingOptions& options, double total) const {
  return 0.5 * (1 - options.top_p) * total / static_cast<double>(vocab_size_);
}

/// Sorting is dear: first a pass for those that have mass and at least this much, in order of id.
std::vector<base::TokenId>::iterator Sampler::collect_candidates(double least) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < exponentials_.size(); ++i) {
    const bool wanted = exponentials_[i] > 0 && static_cast<double>(exponentials_[i]) >= least;
    candidates_[count] = static_cast<base::TokenId>(i);
    count += wanted ? 1 : 0;
  }
  return candidates_.begin() + static_cast<std::ptrdiff_t>(count);
}

base::TokenId Sampler::draw_from_likeliest(const sample::SamplingOptions& options, double uniform) {
  const auto mass_of = [&](base::TokenId id) {
    return static_cast<double>(exponentials_[static_cast<std::size_t>(id)]);
  };
  const auto likelier = [&](base::TokenId a, base::TokenId b) {
    return mass_of(a) != mass_of(b) ? mass_of(a) > mass_of(b) : a < b;
  };
  const auto rarer = [&](base::TokenId a, base::TokenId b) { return likelier(b, a); };
  const bool counts = options.top_k >= 1 && options.top_k < vocab_size_;
  const bool weighs = options.top_p < 1;
  const double least =
      options.min_p * static_cast<double>(*std::ranges::max_element(exponentials_));
  double total = 0;
  if (weighs && !counts) {
    for (const float e : exponentials_) total += static_cast<double>(e);
  }
  double smallest = least;
  if (weighs) smallest = counts ? 0 : std::max(least, smallest_of_nucleus(options, total));
  auto end = collect_candidates(smallest);
  if (counts && options.top_k < end - candidates_.begin()) {
    const auto kth = candidates_.begin() + options.top_k;
    std::nth_element(candidates_.begin(), kth, end, likelier);
    end = kth;
  }
  if (weighs && counts) {
    for (auto id = candidates_.begin(); id != end; ++id) total += mass_of(*id);
  }
  const double enough = weighs ? options.top_p * total : std::numeric_limits<double>::infinity();
  // Heads of the heap go to its end: the likeliest token comes last, the next before it ...
  std::make_heap(candidates_.begin(), end, rarer);
  const auto is_kept = [&](double next) { return next > 0 && next >= least; };
  auto kept = end;
  double mass = 0;
  do {
    std::pop_heap(candidates_.begin(), kept, rarer);
    --kept;
    mass += mass_of(*kept);
  } while (kept != candidates_.begin() && mass < enough && is_kept(mass_of(candidates_.front())));
  double target = uniform * mass;
  auto drawn = end - 1;
  while (drawn != kept && mass_of(*drawn) <= target) target -= mass_of(*drawn--);
  return *drawn;
}

}  // namespace physarum::rollout
