#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "physarum/parallel/wait.hpp"
#include "physarum/parallel/window.hpp"

#include "carrier.hpp"
#include "publisher_impl.hpp"
#include "puller_impl.hpp"
#include "simulated_link.hpp"
#include "weight_steps.hpp"
#include "weight_store_impl.hpp"

namespace physarum::weights {

/// The way of weights between two ranks, wired by hand so that links can be put in: rank 0 is
/// trainer and buffer, rank 1 an engine. Both have a link to the store.
class TransferEnds {
 public:
  /// Collective over two ranks.
  TransferEnds(parallel::Communicator& world, std::int64_t image_bytes,
               const WeightOptions& options, const Link& link);
  TransferEnds(const TransferEnds&) = delete;
  TransferEnds& operator=(const TransferEnds&) = delete;
  ~TransferEnds();

  [[nodiscard]] bool is_trainer() const { return world_.rank() == 0; }
  /// Both ranks come here; rank 0 serves meanwhile.
  void meet();
  /// Rank 0: notes the last step, as an optimiser does while it makes it.
  void note(const WeightSteps& steps);
  /// Rank 0: the next version, with these values; all steps were noted.
  PublishResult publish(const WeightSteps& steps);
  /// Rank 1: waits until the version is visible, and pulls it.
  PullResult pull(std::int64_t version, WeightCarrier carrier);
  /// How long `work` of rank 0 and `work` of rank 1 together took, from the first's start to the
  /// last's end; the same on both.
  double timed(const std::function<void()>& of_trainer, const std::function<void()>& of_engine);

  [[nodiscard]] Image& image() { return image_; }
  [[nodiscard]] StoreAccess& access(WeightCarrier carrier) { return way_by(carrier).access; }
  [[nodiscard]] const StoreLayout& layout() const { return layout_; }
  [[nodiscard]] std::span<std::byte> memory() { return memory_->span(); }
  [[nodiscard]] parallel::Communicator& world() { return world_; }
  void forget_image() { image_.set_version({}); }

 private:
  /// One carrier's. All reach the same store and fill the same image: where memory lies, and in
  /// which pages, is worth more than what is to be compared.
  struct Way {
    Way(WeightCarrier which, const CarrierParts& parts, const WeightOptions& options,
        const Link& link)
        : kind(which),
          carrier(make_carrier(which, parts)),
          access(carrier->engine_access(), link),
          puller(std::make_unique<Puller::Impl>(parts.layout, access, options)) {}
    WeightCarrier kind;
    std::unique_ptr<Carrier> carrier;
    LinkedAccess access;
    Puller puller;
  };
  [[nodiscard]] Way& way_by(WeightCarrier carrier);
  parallel::Communicator& world_;
  CataloguePtr catalogue_;
  StoreLayout layout_;
  Image image_;
  std::shared_ptr<AlignedBytes> memory_ = std::make_shared<AlignedBytes>();
  parallel::Communicator core_;
  parallel::Communicator alone_;
  parallel::Window window_;
  std::unique_ptr<WindowAccess> store_access_;
  std::unique_ptr<LinkedAccess> trainer_access_;
  std::unique_ptr<WeightStore> store_;
  std::unique_ptr<Publisher> publisher_;
  std::vector<std::unique_ptr<Way>> ways_;
  std::optional<parallel::ProgressHook> hook_;
  std::int64_t version_ = -1;
};

}  // namespace physarum::weights
