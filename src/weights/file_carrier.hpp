#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "carrier.hpp"
#include "version_writer.hpp"

namespace physarum::weights {

/// Buffer ranks write every version into a directory, for engines of this job (FilePuller) and of
/// others. Over `own` this job's engines reach the words of the store, and what files do not have.
class FileCarrier final : public Carrier {
 public:
  FileCarrier(const CarrierParts& parts, std::unique_ptr<Carrier> own);
  [[nodiscard]] StoreAccess& engine_access() override { return own_->engine_access(); }
  bool serve() override;
  [[nodiscard]] bool may_fold(base::WeightVersion version) const override;
  /// A buffer rank first waits until its last version is written.
  void close() override;

 private:
  std::unique_ptr<Carrier> own_;
  double patience_s_;
  std::string directory_;
  std::optional<VersionWriter> writer_;  // of a buffer rank
};

}  // namespace physarum::weights
