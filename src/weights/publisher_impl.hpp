#pragma once

#include <functional>
#include <vector>

#include "physarum/base/hash.hpp"

#include "physarum/parallel/communicator.hpp"

#include "physarum/weights/change_log.hpp"
#include "physarum/weights/delta_codec.hpp"
#include "physarum/weights/publisher.hpp"

#include "bounded_puts.hpp"
#include "delta_rule.hpp"
#include "store_access.hpp"
#include "store_layout.hpp"

namespace physarum::weights {

class Publisher::Impl {
 public:
  /// `trainers`: this rank's index in it is its index in the layout. `serve_store` advances the
  /// buffer rank's store that lives on this rank too, if any.
  Impl(const StoreLayout& layout, parallel::Communicator& trainers, StoreAccess& access,
       std::function<void()> serve_store, const WeightOptions& options);

  [[nodiscard]] Range my_bytes() const { return share_; }
  [[nodiscard]] TransferType type() const { return layout_.type(); }
  [[nodiscard]] base::WeightVersion last() const { return last_; }
  [[nodiscard]] ChangeLog& changes() { return changes_; }
  PublishResult publish(base::WeightVersion version, std::span<const float> values,
                        const base::Deadline& deadline);

 private:
  /// What each rank tells all others once it has encoded.
  struct Report {
    std::int64_t version = 0;
    std::int64_t full = 0;  // 1: this rank cannot send a delta
    std::int64_t changed = 0;
    std::int64_t wire_bytes = 0;
    double encode_s = 0;
  };
  [[nodiscard]] bool is_first() const { return trainers_.rank() == 0; }
  /// May the next version follow this one by a delta?
  [[nodiscard]] bool delta_may_follow() const;
  [[nodiscard]] bool buffers_can_take_delta();
  Report prepare(base::WeightVersion version, std::span<const float> values);
  bool encode(std::span<const float> values, DeltaStep step, Report& report);
  void restate(std::span<const float> values);
  void check_digests(std::span<const float> values) const;
  [[nodiscard]] bool delta_pays(std::span<const float> values) const;
  void learn_of_fold();
  [[nodiscard]] PublishResult decide(const std::vector<Report>& reports) const;
  void open_slot(const base::Deadline& deadline);
  void put_full(const base::Deadline& deadline);
  void put_delta(const base::Deadline& deadline);
  void make_visible(const PublishResult& result);
  [[nodiscard]] std::span<base::Digest> digests_of(const Region& region);
  /// Its part of what restate() has made.
  [[nodiscard]] std::span<const std::byte> image_of(const Region& region);
  void for_each_buffer(const std::function<void(int)>& work) const;

  const StoreLayout& layout_;
  parallel::Communicator& trainers_;
  StoreAccess& access_;
  BoundedPuts puts_;
  std::function<void()> serve_store_;
  Range share_;
  std::vector<Region> regions_;
  ChangeLog changes_;  // since version last_; its memory holds the share while that is put
  base::ThreadTeam team_;
  DeltaEncoder encoder_;
  DeltaRule rule_;
  std::vector<base::Bytes> frames_;     // by region
  std::vector<std::uint64_t> lengths_;  // of frames_, as they are put
  std::vector<base::Digest> digests_;   // of the blocks of share_ in version last_
  base::WeightVersion last_;
  std::int64_t active_slot_ = -1;
  std::int64_t published_count_ = 0;
  std::int64_t next_entry_ = 0;
  std::vector<base::WeightVersion> entries_;  // version to which the delta in each entry led
  double last_density_ = 0;                   // of the delta to last_; 0: it is a full image
};

}  // namespace physarum::weights
