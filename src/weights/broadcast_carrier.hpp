#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "physarum/parallel/broadcast_stream.hpp"
#include "physarum/parallel/wait.hpp"

#include "carrier.hpp"
#include "replica.hpp"
#include "version_sender.hpp"

namespace physarum::weights {

/// Buffer ranks broadcast every version to all engines, each of which keeps a copy of the store and
/// reads there. Which version is the newest it asks at the store itself: a version that has been
/// published but has not arrived is waited for.
class BroadcastCarrier final : public Carrier {
 public:
  /// Collective over the pull communicator. `control` is the carrier for single words.
  BroadcastCarrier(const CarrierParts& parts, std::unique_ptr<Carrier> control);
  ~BroadcastCarrier() override;
  BroadcastCarrier(const BroadcastCarrier&) = delete;
  BroadcastCarrier& operator=(const BroadcastCarrier&) = delete;
  BroadcastCarrier(BroadcastCarrier&&) = delete;
  BroadcastCarrier& operator=(BroadcastCarrier&&) = delete;
  [[nodiscard]] StoreAccess& engine_access() override { return *replica_; }
  bool serve() override;
  [[nodiscard]] bool may_fold(base::WeightVersion version) const override;
  void close() override;

 private:
  [[nodiscard]] std::unique_ptr<parallel::BroadcastStream> open_stream(const CarrierParts& parts,
                                                                       int buffer);
  bool receive();

  std::unique_ptr<Carrier> control_;
  double patience_s_;
  std::unique_ptr<Replica> replica_;  // of an engine
  /// By buffer rank, each a stream to all engines; null where this rank has no part in it.
  std::vector<std::unique_ptr<parallel::BroadcastStream>> streams_;
  std::optional<VersionSender> sender_;
  /// An engine takes part also while it has no use for new weights: others' may come over it.
  std::optional<parallel::ProgressHook> hook_;
};

}  // namespace physarum::weights
