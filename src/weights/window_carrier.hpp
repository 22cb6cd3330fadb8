#pragma once

#include <optional>

#include "physarum/parallel/window.hpp"

#include "carrier.hpp"

namespace physarum::weights {

/// One-sided reads from a window that spans buffer and engine ranks.
class WindowCarrier final : public Carrier {
 public:
  /// Collective over the pull communicator.
  explicit WindowCarrier(const CarrierParts& parts)
      : window_(parallel::Window::over(parts.pull, parts.memory, "weights pull")) {
    access_.emplace(window_);
  }
  [[nodiscard]] StoreAccess& engine_access() override { return *access_; }
  void close() override {
    access_.reset();
    window_.close();
  }

 private:
  parallel::Window window_;
  std::optional<WindowAccess> access_;
};

}  // namespace physarum::weights
