#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "physarum/base/bytes.hpp"
#include "physarum/base/deadline.hpp"

namespace physarum::parallel {

using base::Bytes;

/// Until when a collective may wait; left out: the communicator's patience from now on.
using Until = std::optional<base::Deadline>;

enum class Op { sum, min, max };

template <class T>
concept Reducible = std::is_same_v<T, float> || std::is_same_v<T, double> ||
    std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::uint8_t>;

template <class T>
concept Plain = std::is_trivially_copyable_v<T>;

/// An owned group of ranks. Move-only. A null communicator (default-made) behaves as rank 0 of 1:
/// every function below works on it, without MPI.
///
/// All functions marked Collective must be called by all its ranks in the same order. They wait at
/// most until their deadline, yield and serve the progress hooks meanwhile, and throw
/// DeadlineExceeded (who, phase, what), PeerLost or WorldError. After such a throw the communicator
/// is broken: its collective may still be pending on the caller's memory, so the only ways on are
/// Session::leave() and abort_job(). One thread per rank uses communicators.
class Communicator {
 public:
  Communicator() noexcept;
  ~Communicator();
  Communicator(Communicator&&) noexcept;
  Communicator& operator=(Communicator&&);
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] int rank() const noexcept;
  [[nodiscard]] int size() const noexcept;
  /// False for the null communicator.
  [[nodiscard]] bool valid() const noexcept;
  /// False after a collective on it failed.
  [[nodiscard]] bool intact() const noexcept;
  [[nodiscard]] const std::string& name() const noexcept;
  /// "rank 2 of 4 in 'core'", for messages.
  [[nodiscard]] std::string describe() const;

  /// How long a collective without a deadline of its own may wait; children inherit it. 600 s.
  void set_patience_s(double seconds);
  [[nodiscard]] double patience_s() const noexcept;

  /// Collective. Ranks with the same colour form a new communicator, ordered by key, then by rank;
  /// a negative colour gets the null communicator. The null communicator gives null.
  [[nodiscard]] Communicator split(int color, int key, std::string_view name) const;
  /// Collective. The same ranks with messages of their own.
  [[nodiscard]] Communicator duplicate(std::string_view name) const;
  /// Collective. Releases it; it is null afterwards.
  void close();

  /// Collective.
  void barrier(const Until& until = {}) const;

  /// Collective; every rank gives the same count and gets the same bits. Sums add rank 0, 1, 2, ...
  /// in this order, so the result depends on the rank count and the values alone.
  template <Reducible T>
  void all_reduce(std::span<T> values, Op op, const Until& until = {}) const;
  /// Collective, of one value.
  template <Reducible T>
  [[nodiscard]] T all_reduce_value(T value, Op op, const Until& until = {}) const {
    all_reduce(std::span<T>(&value, 1), op, until);
    return value;
  }
  /// Collective. True if all ranks say true.
  [[nodiscard]] bool agree(bool ok, const Until& until = {}) const;

  /// Collective; every rank gives the same count.
  template <Plain T>
  void broadcast(std::span<T> values, int root, const Until& until = {}) const {
    broadcast_raw(std::as_writable_bytes(values), root, until);
  }
  /// Collective. Other ranks' bytes are resized to the root's.
  void broadcast_bytes(Bytes& bytes, int root, const Until& until = {}) const;
  /// Collective.
  void broadcast_string(std::string& text, int root, const Until& until = {}) const;

  /// Collective. Each rank's bytes, by rank, on every rank.
  [[nodiscard]] std::vector<Bytes> all_gather_bytes(std::span<const std::byte> mine,
                                                    const Until& until = {}) const;
  /// Collective. Each rank's bytes, by rank, on `root`; empty elsewhere.
  [[nodiscard]] std::vector<Bytes> gather_bytes(std::span<const std::byte> mine, int root,
                                                const Until& until = {}) const;
  /// Collective. One value of each rank, by rank.
  template <Plain T>
  [[nodiscard]] std::vector<T> all_gather(const T& mine, const Until& until = {}) const {
    std::vector<T> all(static_cast<std::size_t>(size()));
    all_gather_raw(std::as_bytes(std::span<const T>(&mine, 1)),
                   std::as_writable_bytes(std::span<T>(all)), until);
    return all;
  }
  /// Collective. Any number of values of each rank, by rank.
  template <Plain T>
  [[nodiscard]] std::vector<std::vector<T>> all_gather_v(std::span<const T> mine,
                                                         const Until& until = {}) const {
    return from_bytes<T>(all_gather_bytes(std::as_bytes(mine), until));
  }
  template <Plain T>
  [[nodiscard]] std::vector<std::vector<T>> gather_v(std::span<const T> mine, int root,
                                                     const Until& until = {}) const {
    return from_bytes<T>(gather_bytes(std::as_bytes(mine), root, until));
  }

  /// What lies behind; other files of this room and native.hpp use it.
  struct Impl;
  explicit Communicator(std::unique_ptr<Impl> impl) noexcept;
  [[nodiscard]] Impl* impl() const noexcept { return impl_.get(); }

 private:
  void broadcast_raw(std::span<std::byte> bytes, int root, const Until& until) const;
  void all_gather_raw(std::span<const std::byte> mine, std::span<std::byte> all,
                      const Until& until) const;
  template <Plain T>
  static std::vector<std::vector<T>> from_bytes(const std::vector<Bytes>& parts) {
    std::vector<std::vector<T>> all(parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      all[i].resize(parts[i].size() / sizeof(T));
      if (!all[i].empty()) std::memcpy(all[i].data(), parts[i].data(), parts[i].size());
    }
    return all;
  }
  std::unique_ptr<Impl> impl_;
};

extern template void Communicator::all_reduce(std::span<float>, Op, const Until&) const;
extern template void Communicator::all_reduce(std::span<double>, Op, const Until&) const;
extern template void Communicator::all_reduce(std::span<std::int64_t>, Op, const Until&) const;
extern template void Communicator::all_reduce(std::span<std::uint8_t>, Op, const Until&) const;

}  // namespace physarum::parallel
