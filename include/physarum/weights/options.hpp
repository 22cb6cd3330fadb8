#pragma once

#include <cstdint>

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
  rma,       ///< one-sided reads from a window that spans buffer and engine ranks
  messages,  ///< point-to-point with the buffer ranks
};

/// How weights travel from trainers to engines.
struct WeightOptions {
  UpdateMode mode = UpdateMode::automatic;
  TransferType transfer_type = TransferType::bf16;
  /// Deltas that the store keeps; an engine behind by more takes the full image.
  std::int64_t delta_ring = 4;
  WeightCarrier carrier = WeightCarrier::automatic;
  void validate() const;  ///< throws UserError
};

/// --update-weight-mode, --update-weight-transfer-type, --update-weight-delta-ring,
/// --weight-carrier.
void declare_options(base::OptionTable& table, WeightOptions& options);

}  // namespace physarum::weights
