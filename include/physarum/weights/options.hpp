#pragma once

#include <cstdint>

#include "physarum/base/options.hpp"

#include "physarum/weights/catalogue.hpp"

namespace physarum::weights {

enum class UpdateMode { full, delta };

/// How weights travel from trainers to engines.
struct WeightOptions {
  UpdateMode mode = UpdateMode::delta;
  TransferType transfer_type = TransferType::bf16;
  /// Deltas that the store keeps; an engine behind by more takes the full image.
  std::int64_t delta_ring = 4;
  /// Bytes that one rank has under way to or from the store at a time.
  std::int64_t buffer_bytes = std::int64_t{64} << 20;
  /// That compare, encode and check on a rank that publishes, or check and apply on one that pulls.
  std::int64_t threads = 1;
  void validate() const;  ///< throws UserError
};

/// --update-weight-mode, --update-weight-transfer-type, --update-weight-delta-ring,
/// --update-weight-buffer-size, --update-weight-threads.
void declare_options(base::OptionTable& table, WeightOptions& options);

}  // namespace physarum::weights
