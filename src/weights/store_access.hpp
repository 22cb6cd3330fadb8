#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "physarum/base/deadline.hpp"
#include "physarum/base/ids.hpp"

#include "physarum/parallel/window.hpp"

namespace physarum::weights {

/// One-sided access to the windows of the buffer ranks, by buffer index. Another carrier (messages
/// to a buffer rank) is another implementation; tests have one on plain memory.
class StoreAccess {
 public:
  virtual ~StoreAccess() = default;
  StoreAccess() = default;
  StoreAccess(const StoreAccess&) = delete;
  StoreAccess& operator=(const StoreAccess&) = delete;

  /// Started here, complete after flush(); the memory stays alive and untouched until then.
  virtual void put(std::span<const std::byte> from, int buffer, std::uint64_t offset) = 0;
  virtual void get(std::span<std::byte> to, int buffer, std::uint64_t offset) = 0;
  virtual void flush(const base::Deadline& deadline) = 0;
  /// Atomic words; complete on return.
  virtual std::uint64_t load(int buffer, std::int64_t word) = 0;
  virtual void store(int buffer, std::int64_t word, std::uint64_t value) = 0;
  /// Whether what was published as `version` can be read already. Does not wait. A carrier without
  /// memory of its own reads the store itself, where that is so once the version is visible.
  [[nodiscard]] virtual bool arrived(base::WeightVersion version) { return version.valid(); }
  /// Plain loads of this rank's own window see what peers put; peers see its plain stores.
  virtual void sync() = 0;
};

/// A delta in the ring, as one buffer rank's words say.
struct RingDelta {
  std::int64_t entry = 0;
  base::WeightVersion target;
};
/// The delta that leads on from a version, by words that are loaded one after the other: whoever
/// uses it makes sure that its place was not used again meanwhile.
[[nodiscard]] std::optional<RingDelta> find_delta(StoreAccess& access, int buffer,
                                                  std::int64_t ring, base::WeightVersion from);

/// Access over an RMA window whose ranks 0, 1, ... are the buffer ranks.
class WindowAccess final : public StoreAccess {
 public:
  explicit WindowAccess(parallel::Window& window) : epoch_(window) {}
  void put(std::span<const std::byte> from, int buffer, std::uint64_t offset) override;
  void get(std::span<std::byte> to, int buffer, std::uint64_t offset) override;
  void flush(const base::Deadline& deadline) override;
  std::uint64_t load(int buffer, std::int64_t word) override;
  void store(int buffer, std::int64_t word, std::uint64_t value) override;
  void sync() override;

 private:
  parallel::Epoch epoch_;
};

}  // namespace physarum::weights
