#include "physarum/sample/sample_file.hpp"

#include <algorithm>

#include "physarum/base/error.hpp"

#include "sample_columns.hpp"

namespace physarum::sample {

namespace {

constexpr const char* purpose_names[] = {"train", "evaluate", "supervised"};

Purpose purpose_of(const storage::File& file) {
  const auto name = file.string_attribute("", "purpose");
  const auto* found = std::ranges::find(purpose_names, name);
  if (found == std::end(purpose_names)) {
    throw base::UserError("unknown purpose '" + name + "'", file.path().string(),
                          "make the file again with this version of physarum");
  }
  return static_cast<Purpose>(found - std::begin(purpose_names));
}

void check_samples(const SampleFile& content, const std::filesystem::path& path) {
  for (const auto& sample : content.samples) {
    const bool known = sample.status <= SampleStatus::failed;
    const auto fault = known ? find_fault(sample, content.header.purpose)
                             : std::optional<std::string>("its status is unknown");
    if (fault) {
      throw base::UserError("sample " + std::to_string(sample.id.value()) + " is wrong: " + *fault,
                            path.string(), "the file is damaged or foreign; make it again");
    }
  }
}

}  // namespace

storage::Format sample_format() { return {"physarum.samples", 3}; }

void write_samples(storage::File& file, const SampleFileHeader& header,
                   std::span<const Sample* const> samples) {
  file.set_attribute("", "step", header.step);
  file.set_attribute("", "purpose", purpose_names[static_cast<std::size_t>(header.purpose)]);
  file.set_attribute("", "seed", header.seed);
  file.set_attribute("", "program_version", std::string_view(header.program_version));
  file.write_text("configuration", header.configuration);
  write_sample_table(file, "", samples);
}

void write_sample_table(storage::File& file, const std::string& prefix,
                        std::span<const Sample* const> samples) {
  SampleColumns columns;
  for (const Sample* sample : samples) columns.append(*sample);
  columns.write(file, prefix);
}

std::vector<Sample> read_sample_table(const storage::File& file, const std::string& prefix) {
  const auto columns = SampleColumns::read(file, prefix);
  std::vector<Sample> samples;
  samples.reserve(columns.rows());
  for (std::size_t i = 0; i < columns.rows(); ++i) samples.push_back(columns.row(i));
  std::ranges::sort(samples, {}, &Sample::id);
  return samples;
}

SampleFile read_samples(const std::filesystem::path& path) {
  const auto file = storage::File::open_read(path, sample_format());
  SampleFile content;
  content.header.step = file.integer_attribute("", "step");
  content.header.purpose = purpose_of(file);
  content.header.seed = file.integer_attribute("", "seed");
  content.header.program_version = file.string_attribute("", "program_version");
  content.header.configuration = file.read_text("configuration");
  content.samples = read_sample_table(file, "");
  check_samples(content, path);
  return content;
}

}  // namespace physarum::sample
