#include "carrier.hpp"

#include <stdexcept>

#include "broadcast_carrier.hpp"
#include "message_carrier.hpp"
#include "window_carrier.hpp"

namespace physarum::weights {

WeightCarrier chosen(WeightCarrier carrier) {
  return carrier == WeightCarrier::automatic ? WeightCarrier::rma : carrier;
}

std::unique_ptr<Carrier> make_carrier(WeightCarrier carrier, const CarrierParts& parts) {
  switch (chosen(carrier)) {
    case WeightCarrier::rma:
      return std::make_unique<WindowCarrier>(parts);
    case WeightCarrier::messages:
      return std::make_unique<MessageCarrier>(parts,
                                              MessageLimits{.patience_s = parts.pull.patience_s()});
    case WeightCarrier::broadcast:
      return std::make_unique<BroadcastCarrier>(parts, std::make_unique<WindowCarrier>(parts));
    case WeightCarrier::automatic:
      break;
  }
  throw std::logic_error("no such carrier");
}

}  // namespace physarum::weights
