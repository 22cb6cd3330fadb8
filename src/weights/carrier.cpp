#include "carrier.hpp"

#include <stdexcept>

#include "broadcast_carrier.hpp"
#include "file_carrier.hpp"
#include "message_carrier.hpp"
#include "window_carrier.hpp"

namespace physarum::weights {

// Messages are as fast on one machine and faster between machines, and no engine can harm a trainer
// by its death. But a buffer rank that decodes answers only between two steps of that.
WeightCarrier chosen(WeightCarrier carrier, const CarrierParts& parts) {
  if (carrier != WeightCarrier::automatic) return carrier;
  const bool both = parts.store != nullptr && parts.is_engine;
  const auto any = parts.pull.all_reduce_value<std::int64_t>(both ? 1 : 0, parallel::Op::max);
  return any != 0 ? WeightCarrier::rma : WeightCarrier::messages;
}

std::unique_ptr<Carrier> make_carrier(WeightCarrier carrier, const CarrierParts& parts) {
  switch (chosen(carrier, parts)) {
    case WeightCarrier::rma:
      return std::make_unique<WindowCarrier>(parts);
    case WeightCarrier::messages:
      return std::make_unique<MessageCarrier>(parts,
                                              MessageLimits{.patience_s = parts.pull.patience_s()});
    case WeightCarrier::broadcast:
      return std::make_unique<BroadcastCarrier>(parts, std::make_unique<WindowCarrier>(parts));
    case WeightCarrier::file:
      return std::make_unique<FileCarrier>(parts, make_carrier(WeightCarrier::automatic, parts));
    case WeightCarrier::automatic:
      break;
  }
  throw std::logic_error("no such carrier");
}

}  // namespace physarum::weights
