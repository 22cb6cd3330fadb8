#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "physarum/storage/file.hpp"

#include "physarum/sample/sample.hpp"

namespace physarum::sample {

/// samples_<step>.h5: format "physarum.samples"; docs/formats/samples.md.
[[nodiscard]] storage::Format sample_format();

/// What a file of samples says about all of them.
struct SampleFileHeader {
  std::int64_t step = 0;
  Purpose purpose = Purpose::train;
  std::int64_t seed = 0;
  std::string program_version;
  std::string configuration;  ///< the resolved configuration as TOML
};

/// Collective over the file's communicator; every rank gives its own samples, by id. The header is
/// the same on all ranks. Use it inside storage::commit_file().
void write_samples(storage::File& file, const SampleFileHeader& header,
                   std::span<const Sample* const> samples);

/// The same columns below `prefix` ("buffer/samples/") of a file of another kind, without a header.
/// Collective over the file's communicator.
void write_sample_table(storage::File& file, const std::string& prefix,
                        std::span<const Sample* const> samples);
/// By id. This rank alone. Throws UserError; does not look at the samples' own rules.
[[nodiscard]] std::vector<Sample> read_sample_table(const storage::File& file,
                                                    const std::string& prefix);

struct SampleFile {
  SampleFileHeader header;
  std::vector<Sample> samples;  ///< by id, whatever the number of ranks that wrote them
};

/// This rank alone. Throws UserError for missing, damaged or foreign files and for samples that
/// break an invariant.
[[nodiscard]] SampleFile read_samples(const std::filesystem::path& path);

}  // namespace physarum::sample
