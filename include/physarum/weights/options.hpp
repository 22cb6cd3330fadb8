#pragma once

#include <cstdint>
#include <string>

#include "physarum/base/options.hpp"

#include "physarum/weights/catalogue.hpp"

namespace physarum::weights {

enum class UpdateMode {
  full,
  delta,      ///< changed elements while they take less than a quarter of the image
  automatic,  ///< ... and while that is faster, as far as this run has measured
};

/// How engines reach the weight store.
enum class WeightCarrier {
  automatic,
  rma,        ///< one-sided reads from a window that spans buffer and engine ranks
  messages,   ///< point-to-point with the buffer ranks
  broadcast,  ///< buffer ranks send all versions to all engines
  file,       ///< ... write them into a directory, where engines of this job and of others read
};

/// Of what an engine makes digests before it takes a version into use.
enum class PullCheck {
  changes,     ///< what came: a full image, or the elements of a delta
  every_byte,  ///< the whole image, whatever came
};

/// How weights travel from trainers to engines.
struct WeightOptions {
  UpdateMode mode = UpdateMode::automatic;
  TransferType transfer_type = TransferType::bf16;
  /// Deltas that the store keeps; an engine behind by more takes the full image.
  std::int64_t delta_ring = 4;
  /// Of that many versions one goes out in full, so that no engine depends on a longer chain of
  /// deltas; 0: full only where a delta is not possible or not smaller.
  std::int64_t full_interval = 0;
  /// Steps from one version that engines can pull to the next.
  std::int64_t interval = 1;
  WeightCarrier carrier = WeightCarrier::automatic;
  std::string directory;  ///< of the carrier `file`; empty with others
  /// Bytes that one rank has under way to or from the store at a time.
  std::int64_t buffer_bytes = std::int64_t{64} << 20;
  /// That compare, encode and check on a rank that publishes, or check and apply on one that pulls.
  std::int64_t threads = 1;
  /// Not an option of its own: --check-weight-update-equal asks for every byte.
  PullCheck pull_check = PullCheck::changes;
  void validate() const;  ///< throws UserError
};

/// What the weight store takes for a whole image, over all buffer ranks: two images, the deltas.
[[nodiscard]] std::int64_t store_bytes(const WeightOptions& options, std::int64_t image_bytes);
/// What a carrier takes of the buffer ranks together: with `file` the image that is being written.
[[nodiscard]] std::int64_t writer_bytes(const WeightOptions& options, std::int64_t image_bytes);
/// What an engine's carrier takes of its rank's memory: with `broadcast` a copy of the store.
[[nodiscard]] std::int64_t carrier_bytes(const WeightOptions& options, std::int64_t image_bytes);

/// --update-weight-mode, --update-weight-transfer-type, --update-weight-delta-ring,
/// --update-weight-full-interval, --update-weights-interval, --weight-carrier,
/// --weight-directory, --update-weight-buffer-size, --update-weight-threads.
void declare_options(base::OptionTable& table, WeightOptions& options);

}  // namespace physarum::weights
