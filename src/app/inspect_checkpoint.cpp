#include "inspect_checkpoint.hpp"

#include <cstdio>

#include "physarum/base/error.hpp"
#include "physarum/base/joined.hpp"

#include "physarum/storage/checkpoint.hpp"

#include "physarum/buffer/buffer_state.hpp"

namespace physarum::app {

namespace {

std::string megabytes(std::uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MB", static_cast<double>(bytes) / 1e6);
  return text;
}

/// "weights: 27 tensors, 1116800 values".
std::string bulk_line(const storage::CheckpointManifest& manifest, const std::string& prefix) {
  std::int64_t tensors = 0;
  std::uint64_t values = 0;
  for (const auto& place : manifest.bulk) {
    if (!place.dataset.name.starts_with(prefix)) continue;
    ++tensors;
    values += storage::count_elements(place.dataset.extent);
  }
  if (tensors == 0) return "none";
  return std::to_string(tensors) + " tensors, " + std::to_string(values) + " values";
}

void add_buffer(const storage::CheckpointReader& checkpoint, std::vector<std::string>& lines) {
  using State = buffer::OpenGroup::State;
  const auto state = buffer::BufferState::read(checkpoint.file());
  std::int64_t counts[3] = {0, 0, 0};
  for (const auto& open : state.open) ++counts[static_cast<std::size_t>(open.state)];
  lines.push_back("buffer: " + std::to_string(counts[static_cast<std::size_t>(State::stored)]) +
                  " groups finished, " +
                  std::to_string(counts[static_cast<std::size_t>(State::lent)]) + " lent, " +
                  std::to_string(counts[static_cast<std::size_t>(State::waiting)]) +
                  " waiting; the next new group is " + std::to_string(state.fresh_group));
  if (!state.unfinished.empty()) {
    std::int64_t tokens = 0;
    for (const auto& group : state.unfinished) {
      for (const auto& one : group.samples) tokens += one.response_tokens();
    }
    lines.push_back("unfinished: " + std::to_string(state.unfinished.size()) + " groups, " +
                    std::to_string(tokens) + " tokens");
  }
  if (!state.evaluations.empty())
    lines.push_back("evaluations not finished: " + std::to_string(state.evaluations.size()));
}

}  // namespace

Inspection inspect_checkpoint(const std::filesystem::path& directory, Verify verify) {
  Inspection found;
  auto& lines = found.lines;
  lines.push_back("checkpoint: " + directory.string());
  try {
    const storage::CheckpointReader checkpoint(storage::real_file_system(), directory);
    const auto& manifest = checkpoint.manifest();
    const auto& file = checkpoint.file();
    if (verify == Verify::data) checkpoint.verify();
    lines.push_back(verify == Verify::data ? "verified: every byte has its digest"
                                           : "not verified: weights and optimiser");
    lines.push_back("format: " + file.format().name + ", version " +
                    std::to_string(file.format().version));
    lines.push_back("size: " + megabytes(manifest.file_bytes));
    lines.push_back("steps: " + std::to_string(manifest.step));
    lines.push_back("weight version: " + std::to_string(manifest.weight_version));
    lines.push_back("written: " + manifest.written + " by physarum " + manifest.program_version +
                    " on " + base::joined(manifest.hosts, ", "));
    lines.push_back("run: " + file.string_attribute("", "run_name") + ", seed " +
                    std::to_string(file.integer_attribute("", "seed")) + ", " +
                    file.string_attribute("", "layout"));
    lines.push_back("weights: " + bulk_line(manifest, "weights/"));
    lines.push_back("optimiser: " + bulk_line(manifest, "optimizer/") + ", " +
                    std::to_string(file.integer_attribute("optimizer", "updates")) + " updates");
    add_buffer(checkpoint, lines);
    lines.push_back("configuration:");
    lines.push_back(file.read_text("configuration"));
  } catch (const storage::DamagedCheckpoint& error) {
    found.good = false;
    lines.push_back(std::string("damaged: ") + error.what());
  }
  return found;
}

Inspection inspect_checkpoints(const std::filesystem::path& directory, Verify verify) {
  Inspection found;
  auto& files = storage::real_file_system();
  found.lines.push_back("checkpoints in " + directory.string() + ", newest first:");
  for (const auto step : storage::list_checkpoints(files, directory)) {
    const auto name = storage::checkpoint_name(step);
    try {
      const storage::CheckpointReader checkpoint(files, directory / name);
      if (verify == Verify::data) checkpoint.verify();
      const auto& manifest = checkpoint.manifest();
      found.lines.push_back(name + ": " + megabytes(manifest.file_bytes) + ", " + manifest.written +
                            ", " + (verify == Verify::data ? "verified" : "not verified"));
    } catch (const storage::DamagedCheckpoint& error) {
      found.good = false;
      found.lines.push_back(name + ": damaged: " + error.what());
    }
  }
  return found;
}

}  // namespace physarum::app
