#pragma once

#include <memory>
#include <optional>

#include "physarum/base/deadline.hpp"

#include "physarum/parallel/communicator.hpp"
#include "physarum/parallel/layout.hpp"

#include "physarum/weights/catalogue.hpp"
#include "physarum/weights/options.hpp"
#include "physarum/weights/publisher.hpp"
#include "physarum/weights/puller.hpp"
#include "physarum/weights/weight_store.hpp"

namespace physarum::weights {

/// Who takes part. Buffer ranks are ranks 0 … buffer_ranks-1 of both `core` and `pull` (the rank
/// layout's order). A rank that is no member passes nullptr for that communicator.
struct ExchangeMembers {
  parallel::Communicator* core = nullptr;      ///< buffer and trainer ranks
  parallel::Communicator* pull = nullptr;      ///< buffer and rollout ranks
  parallel::Communicator* trainers = nullptr;  ///< trainer ranks
  int buffer_ranks = 1;
  int trainer_ranks = 1;
  bool is_buffer = false;
  bool is_trainer = false;
  bool is_engine = false;
};

/// The members that a run's layout gives. The layout must outlive the exchange.
[[nodiscard]] ExchangeMembers members_of(parallel::Layout& layout);

/// The weight store of a run: this rank's ends of it. In colocated layouts a rank has all three.
class WeightExchange {
 public:
  /// Collective over all members of core and pull together, which make the core window first, then
  /// the carrier to the engines; the same catalogue, counts and options on all ranks (checked; all
  /// ranks throw WorldError if not). The communicators must outlive the object.
  [[nodiscard]] static WeightExchange make(const ExchangeMembers& members, CataloguePtr catalogue,
                                           const WeightOptions& options, base::Deadline deadline);
  class Impl;
  explicit WeightExchange(std::unique_ptr<Impl> impl);
  WeightExchange(WeightExchange&&) noexcept;
  WeightExchange& operator=(WeightExchange&&) noexcept;
  ~WeightExchange();

  /// This rank's ends; nullptr for a role it has not. Owned by this object.
  [[nodiscard]] WeightStore* store();
  [[nodiscard]] Publisher* publisher();
  [[nodiscard]] Puller* puller();

  /// Collective over all members of pull, then over those of core: after it no end may be used.
  /// Every rank that publishes or pulls has finished; buffer ranks come last.
  void close();

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace physarum::weights
