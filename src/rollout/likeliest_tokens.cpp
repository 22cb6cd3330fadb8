#include "likeliest_tokens.hpp"

#include <algorithm>
#include <limits>

namespace physarum::rollout {

namespace {
/// Tokens with less cannot be among the fewest with the share top-p, as all of them together have
/// less than the rest; half of that, for rounding.
double smallest_of_nucleus(const sample::SamplingOptions& options, double total,
                           std::size_t vocab_size) {
  return 0.5 * (1 - options.top_p) * total / static_cast<double>(vocab_size);
}

std::int64_t most_of(const sample::SamplingOptions& options) {
  return options.records_nuclei() ? options.nucleus_limit
                                  : std::numeric_limits<std::int64_t>::max();
}
}  // namespace

LikeliestTokens::LikeliestTokens(std::int64_t vocab_size)
    : candidates_(static_cast<std::size_t>(vocab_size)) {}

/// Sorting is dear: first a pass for those that have mass and at least this much, in order of id.
std::int64_t LikeliestTokens::collect_candidates(double least) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < masses_.size(); ++i) {
    const bool wanted = masses_[i] > 0 && static_cast<double>(masses_[i]) >= least;
    candidates_[count] = static_cast<base::TokenId>(i);
    count += wanted ? 1 : 0;
  }
  return static_cast<std::int64_t>(count);
}

void LikeliestTokens::keep(std::span<const float> masses, const sample::SamplingOptions& options) {
  masses_ = masses;
  const auto likelier_one = [this](base::TokenId a, base::TokenId b) { return likelier(a, b); };
  const auto rarer = [this](base::TokenId a, base::TokenId b) { return likelier(b, a); };
  const bool counts = options.top_k >= 1 && options.top_k < std::ssize(masses);
  const bool weighs = options.top_p < 1;
  const double least = options.min_p * static_cast<double>(*std::ranges::max_element(masses));
  double total = 0;
  if (weighs && !counts) {
    for (const float mass : masses) total += static_cast<double>(mass);
  }
  double smallest = least;
  if (weighs) {
    smallest = counts ? 0 : std::max(least, smallest_of_nucleus(options, total, masses.size()));
  }
  end_ = collect_candidates(smallest);
  const auto first = candidates_.begin();
  if (counts && options.top_k < end_) {
    std::nth_element(first, first + options.top_k, first + end_, likelier_one);
    end_ = options.top_k;
  }
  if (weighs && counts) {
    for (auto id = first; id != first + end_; ++id) total += mass_of(*id);
  }
  const double enough = weighs ? options.top_p * total : std::numeric_limits<double>::infinity();
  // Heads of the heap go to its end: the likeliest token comes last, the next before it ...
  std::make_heap(first, first + end_, rarer);
  begin_ = end_;
  mass_ = 0;
  const auto is_wanted = [&] {
    if (begin_ == 0 || mass_ >= enough) return false;
    const double next = mass_of(*first);
    return next > 0 && next >= least;
  };
  const auto most = most_of(options);
  do {
    std::pop_heap(first, first + begin_, rarer);
    mass_ += mass_of(first[--begin_]);
  } while (size() < most && is_wanted());
  narrowed_ = size() == most && is_wanted();
}

base::TokenId LikeliestTokens::draw(double uniform) const {
  double target = uniform * mass_;
  auto drawn = candidates_.begin() + end_ - 1;
  while (drawn != candidates_.begin() + begin_ && mass_of(*drawn) <= target) {
    target -= mass_of(*drawn--);
  }
  return *drawn;
}

std::span<const base::TokenId> LikeliestTokens::ids() {
  std::sort(candidates_.begin() + begin_, candidates_.begin() + end_);
  return std::span(candidates_)
      .subspan(static_cast<std::size_t>(begin_), static_cast<std::size_t>(size()));
}

}  // namespace physarum::rollout
