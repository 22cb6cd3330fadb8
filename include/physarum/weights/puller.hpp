#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>

#include "physarum/base/deadline.hpp"
#include "physarum/base/ids.hpp"

#include "physarum/weights/image.hpp"

namespace physarum::weights {

struct PullResult {
  enum class Kind {
    current,      ///< the image already was that version; nothing moved
    delta,        ///< changed elements only
    full,         ///< the whole image, and the deltas that followed it
    unavailable,  ///< the version asked for is not (or no longer) in the store; image untouched
  };
  base::WeightVersion version;  ///< of the image now
  Kind kind = Kind::current;
  std::int64_t wire_bytes = 0;  ///< of all attempts
  std::int64_t deltas = 0;      ///< versions applied as deltas
  std::int64_t retries = 0;     ///< attempts that lost a race or failed verification
  std::int64_t failures = 0;    ///< of them, those that failed verification: bytes were wrong
  double seconds = 0;           ///< inside the puller, waiting between advance() calls excluded
  double get_s = 0;             ///< of them, looking and transferring
  double apply_s = 0;           ///< of them, decoding deltas into the image
};

/// A pull failed verification or lost its race in every attempt. The image has no version if any of
/// its bytes were touched.
class PullFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Engine end of the weight store. Buffer ranks must advance their stores now and then: they
/// answer, or at least have to be inside MPI. Made by WeightExchange. One thread.
class Puller {
 public:
  class Impl;
  explicit Puller(std::unique_ptr<Impl> impl);
  Puller(Puller&&) noexcept;
  Puller& operator=(Puller&&) noexcept;
  ~Puller();

  /// Newest visible version, by one word of a buffer rank; not valid() before the first publish.
  [[nodiscard]] base::WeightVersion newest();

  /// Brings `image` to `exactly` (default: the newest at the time of the call). `image` is not the
  /// one in use: a failed pull leaves it without version. Its version() says what it holds, so
  /// deltas are used when the store still has all that are missing. The digests of the target state
  /// are verified before this returns; a lost race or a wrong digest starts again, then with a full
  /// pull; throws PullFailed after some attempts, DeadlineExceeded if it takes too long.
  PullResult pull(Image& image, base::Deadline deadline,
                  std::optional<base::WeightVersion> exactly = {});

  /// The same in slices, for an engine that decodes in between: begin(), then advance() until it
  /// returns a result. Each advance() moves or checks about `budget_bytes` and returns. `image`
  /// must stay alive and untouched until then.
  void begin(Image& image, std::optional<base::WeightVersion> exactly = {});
  [[nodiscard]] bool active() const;
  std::optional<PullResult> advance(std::int64_t budget_bytes, base::Deadline deadline);
  /// Gives up the pull that was begun, if any; waits for nothing. The image keeps its version if
  /// none of its bytes were touched yet, and has none otherwise. It is the caller's again.
  void abandon();

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace physarum::weights
