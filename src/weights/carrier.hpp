#pragma once

#include <memory>
#include <span>
#include <string>

#include "physarum/parallel/communicator.hpp"

#include "physarum/weights/options.hpp"

#include "store_access.hpp"
#include "store_layout.hpp"

namespace physarum::weights {

/// How engines reach the store: what --weight-carrier chooses. Every rank of the pull communicator
/// has its end of it.
class Carrier {
 public:
  virtual ~Carrier() = default;
  Carrier() = default;
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;

  /// What this rank's engine reads the store with. Owned by the carrier.
  [[nodiscard]] virtual StoreAccess& engine_access() = 0;
  /// A buffer rank's turn for the engines; true if it did something. Does not wait.
  virtual bool serve() { return false; }
  /// A buffer rank's: whether the delta to this version may go into its full image. Only what is
  /// there may be written over by trainers.
  [[nodiscard]] virtual bool may_fold(base::WeightVersion version) const { return version.valid(); }
  /// Collective over the pull communicator; engines have finished.
  virtual void close() = 0;
};

/// Where the carrier `file` writes, and of which catalogue.
struct CarrierFiles {
  std::string directory;
  std::uint64_t catalogue = 0;
};

/// What a carrier is made from, on one rank of the pull communicator. All of it outlives the
/// carrier.
struct CarrierParts {
  parallel::Communicator& pull;
  const StoreLayout& layout;
  std::span<std::byte> memory;  ///< of a buffer rank's store; empty on others
  std::shared_ptr<void> owner;  ///< of the memory, for whoever may need it longer
  StoreAccess* store;           ///< a buffer rank's access to that memory; null on others
  bool is_engine = true;        ///< false: a buffer rank without an engine
  CarrierFiles files = {};
};

/// What `automatic` stands for: messages, unless a buffer rank is an engine, too. Collective over
/// the pull communicator if `carrier` is automatic.
[[nodiscard]] WeightCarrier chosen(WeightCarrier carrier, const CarrierParts& parts);

/// Collective over the pull communicator.
[[nodiscard]] std::unique_ptr<Carrier> make_carrier(WeightCarrier carrier,
                                                    const CarrierParts& parts);

}  // namespace physarum::weights
