#pragma once

#include <array>
#include <random>
#include <utility>

#include "physarum/parallel/wait.hpp"

#include "physarum/weights/puller.hpp"

#include "evolving_weights.hpp"

namespace physarum::weights::test {

/// What an engine saw; sums over engines have a meaning.
struct ReaderCounts {
  static constexpr std::array names = {"swaps",    "wrong",    "deltas",         "fulls", "retries",
                                       "failures", "given_up", "from_old_image", "gone"};
  std::int64_t swaps = 0;
  std::int64_t wrong = 0;   ///< swapped images with another checksum than their version's
  std::int64_t deltas = 0;  ///< pulls by deltas alone
  std::int64_t fulls = 0;
  std::int64_t retries = 0;
  std::int64_t failures = 0;        ///< attempts that only the digests ended
  std::int64_t given_up = 0;        ///< pulls that were abandoned in the middle
  std::int64_t from_old_image = 0;  ///< of these, followed by one from the image in use
  std::int64_t gone = 0;            ///< one version was asked for that was there no more
  [[nodiscard]] std::array<std::int64_t, names.size()> values() const {
    return {swaps, wrong, deltas, fulls, retries, failures, given_up, from_old_image, gone};
  }
};

/// An engine that pulls at random speed, in slices of random size, sometimes one certain version;
/// that gives up in the middle, rests, and begins again with what it has. Whatever it takes into
/// use is compared with what its version must be.
class RestlessReader {
 public:
  RestlessReader(Puller& puller, const CataloguePtr& catalogue, const Changes& changes,
                 std::uint64_t seed)
      : puller_(puller),
        expected_(catalogue, changes),
        shadow_(catalogue),
        used_(catalogue),
        dice_(seed) {}

  /// One slice of a pull, or what lies between two.
  void turn(const base::Deadline& deadline) {
    if (!puller_.active()) return begin();
    constexpr std::array<std::int64_t, 5> budgets = {1, 4'096, 100'000, 1'000'000, 1L << 40};
    const auto result = puller_.advance(budgets[draw() % budgets.size()], deadline);
    if (result) return take(*result);
    // The first pull is given up for certain, so that every run has one.
    if (counts_.given_up == 0 || one_in(20)) give_up();
    if (one_in(4)) rest(1'000);
  }
  [[nodiscard]] std::int64_t version() const { return used_.version().value(); }
  [[nodiscard]] const ReaderCounts& counts() const { return counts_; }

 private:
  [[nodiscard]] std::uint64_t draw() { return dice_(); }
  [[nodiscard]] bool one_in(std::uint64_t n) { return draw() % n == 0; }
  void rest(std::uint64_t most_us) {
    const auto end = base::Deadline::in(static_cast<double>(draw() % most_us) * 1e-6);
    (void)parallel::wait_until([] { return false; }, end);
  }

  void begin() {
    if (one_in(10)) rest(10'000);
    exactly_.reset();
    if (one_in(5)) {
      const auto newest = puller_.newest().value() - static_cast<std::int64_t>(draw() % 2);
      if (newest > version()) exactly_ = base::WeightVersion(newest);
    }
    puller_.begin(shadow_, exactly_);
  }
  void give_up() {
    puller_.abandon();
    ++counts_.given_up;
    if (used_.version().valid() && one_in(2)) {
      shadow_.copy_from(used_);
      ++counts_.from_old_image;
    }
    rest(20'000);
  }
  void take(const PullResult& result) {
    counts_.retries += result.retries;
    counts_.failures += result.failures;
    if (result.kind == PullResult::Kind::unavailable) counts_.gone += exactly_ ? 1 : 0;
    counts_.deltas += result.kind == PullResult::Kind::delta ? 1 : 0;
    counts_.fulls += result.kind == PullResult::Kind::full ? 1 : 0;
    if (!shadow_.version().valid() || shadow_.version() == used_.version()) return;
    ++counts_.swaps;
    expected_.advance_to(shadow_.version().value());
    const bool right = shadow_.version() == base::WeightVersion(expected_.version()) &&
                       (!exactly_ || shadow_.version() == *exactly_) &&
                       shadow_.digest() == expected_.image().digest();
    counts_.wrong += right ? 0 : 1;
    used_.copy_from(shadow_);
  }

  Puller& puller_;
  EvolvingWeights expected_;
  Image shadow_;
  Image used_;
  std::mt19937_64 dice_;
  std::optional<base::WeightVersion> exactly_;
  ReaderCounts counts_;
};

}  // namespace physarum::weights::test
