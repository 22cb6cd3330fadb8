#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "physarum/storage/file.hpp"

#include "physarum/sample/sample.hpp"

#include "column.hpp"

namespace physarum::sample {

/// Samples turned on their side: one array per field, as the file holds them.
struct SampleColumns {
  std::vector<std::int64_t> id, group, prompt, lease, index_in_group, prompt_tokens;
  std::vector<std::int64_t> verifier_version;
  std::vector<std::uint64_t> input_hash;
  std::vector<double> reward, generation_s, verification_s;
  std::vector<std::uint8_t> status, removed;
  Ragged<std::int32_t> tokens;
  Ragged<float> log_probs;
  Ragged<std::int32_t> nucleus_ids, nucleus_sizes;
  Ragged<std::int32_t> top_ids;
  Ragged<float> top_log_probs;
  Ragged<std::uint8_t> mask;
  Ragged<std::int64_t> version, version_tokens, lease_history;
  Ragged<std::uint8_t> response, label, verifier, verdict;

  void append(const Sample& sample);
  /// Fields out of range stay what they are: find_fault() says so afterwards.
  [[nodiscard]] Sample row(std::size_t index) const;
  [[nodiscard]] std::size_t rows() const { return id.size(); }

  /// Collective over the file's communicator.
  void write(storage::File& file, const std::string& prefix = "") const;
  /// Throws UserError.
  [[nodiscard]] static SampleColumns read(const storage::File& file,
                                          const std::string& prefix = "");
};

}  // namespace physarum::sample
