#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "physarum/base/deadline.hpp"
#include "physarum/base/ids.hpp"

#include "physarum/weights/catalogue.hpp"
#include "physarum/weights/change_log.hpp"

namespace physarum::weights {

/// What one publish did, summed over all trainer ranks; the same on each of them.
struct PublishResult {
  enum class Kind { delta, full };
  base::WeightVersion version;
  Kind kind = Kind::full;
  double density = 1;           ///< changed share of all elements; 1 for a full one
  std::int64_t wire_bytes = 0;  ///< put into the store, digests included
  double encode_s = 0;          ///< encoding, or rounding, and digests; slowest rank
  double put_s = 0;             ///< this rank, until its part is in the store
  double seconds = 0;           ///< this rank, from entry to visible
};

/// Trainer end of the weight store. Each trainer rank owns one range of the image's bytes (whole
/// blocks of StoreLayout) and puts it itself; no rank gathers. Made by WeightExchange.
class Publisher {
 public:
  class Impl;
  explicit Publisher(std::unique_ptr<Impl> impl);
  Publisher(Publisher&&) noexcept;
  Publisher& operator=(Publisher&&) noexcept;
  ~Publisher();

  /// This rank's range of the image, in bytes and in elements of the flat buffer; may be empty
  /// when there are more ranks than blocks.
  [[nodiscard]] Range my_bytes() const;
  [[nodiscard]] Range my_elements() const;

  /// Makes the values, rounded to the transfer type, visible as `version`. `flat` is an fp32 buffer
  /// of Catalogue::total_elements(), of which each rank reads my_elements() only. Collective over
  /// the trainer group; the same `version` on all, greater than the last. What differs from the
  /// last one in my_elements() has been noted in changes() (a sample is checked). A delta from the
  /// last one goes out if the mode allows it and the encoded changes are small; otherwise the full
  /// image. On return the version is visible to every engine. The first one is always full. Waits
  /// for the other trainer ranks, until `deadline` (throws); never for engines. Failures are
  /// agreed: all ranks throw together, the version does not become visible, and the next publish is
  /// full.
  PublishResult publish(base::WeightVersion version, std::span<const float> flat,
                        base::Deadline deadline);

  /// Where whoever changes the weights notes what changes; as long-lived as the publisher.
  [[nodiscard]] ChangeLog& changes();

  /// The last version published here; not valid() before the first.
  [[nodiscard]] base::WeightVersion last() const;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace physarum::weights
