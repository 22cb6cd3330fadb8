#pragma once

#include <optional>

#include "carrier.hpp"
#include "message_access.hpp"
#include "message_server.hpp"

namespace physarum::weights {

/// Engines ask buffer ranks by point-to-point messages: no window spans both, so an engine may die
/// without harm to a trainer.
class MessageCarrier final : public Carrier {
 public:
  /// Collective over the pull communicator.
  MessageCarrier(const CarrierParts& parts, MessageLimits limits);
  [[nodiscard]] StoreAccess& engine_access() override { return *access_; }
  bool serve() override { return server_ && server_->serve(); }
  void close() override;

 private:
  parallel::Communicator comm_;
  std::optional<MessageServer> server_;
  std::optional<MessageAccess> access_;
};

}  // namespace physarum::weights
