#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "physarum/base/ids.hpp"

#include "physarum/sample/sampling_options.hpp"

namespace physarum::rollout {

/// What top-k, top-p and min-p leave of a distribution, from the likeliest token down (equals by
/// id).
class LikeliestTokens {
 public:
  explicit LikeliestTokens(std::int64_t vocab_size);

  /// Keeps tokens of a distribution that is proportional to `masses` [vocab_size], which stay alive
  /// until the next call; some mass is above 0. With options.nucleus_limit at most that many.
  void keep(std::span<const float> masses, const sample::SamplingOptions& options);
  /// `uniform` in [0, 1).
  [[nodiscard]] base::TokenId draw(double uniform) const;
  [[nodiscard]] std::int64_t size() const { return end_ - begin_; }
  /// options.nucleus_limit alone cut off some of them.
  [[nodiscard]] bool narrowed() const { return narrowed_; }
  /// The ids in rising order, until the next call. Nothing can be drawn any more.
  [[nodiscard]] std::span<const base::TokenId> ids();

 private:
  [[nodiscard]] double mass_of(base::TokenId id) const {
    return static_cast<double>(masses_[static_cast<std::size_t>(id)]);
  }
  [[nodiscard]] bool likelier(base::TokenId a, base::TokenId b) const {
    return mass_of(a) != mass_of(b) ? mass_of(a) > mass_of(b) : a < b;
  }
  [[nodiscard]] std::int64_t collect_candidates(double least);

  std::span<const float> masses_;
  std::vector<base::TokenId> candidates_;  ///< [vocab_size]
  std::int64_t begin_ = 0;                 ///< what is kept of them; the likeliest comes last
  std::int64_t end_ = 0;
  double mass_ = 0;  ///< of what is kept
  bool narrowed_ = false;
};

}  // namespace physarum::rollout
