#include "physarum/weights/options.hpp"

#include "physarum/base/error.hpp"

namespace physarum::weights {
namespace {
constexpr std::int64_t longest_ring = 64;
constexpr std::int64_t longest_interval = 1'000'000;
constexpr std::int64_t most_threads = 1024;
constexpr std::int64_t smallest_buffer = std::int64_t{64} << 10;
constexpr std::int64_t largest_buffer = std::int64_t{1} << 40;
}  // namespace

void WeightOptions::validate() const {
  if (delta_ring < 1 || delta_ring > longest_ring) {
    throw base::UserError("the delta ring has " + std::to_string(delta_ring) + " places",
                          "--update-weight-delta-ring", "give a number from 1 to 64");
  }
  if (buffer_bytes < smallest_buffer || buffer_bytes > largest_buffer) {
    throw base::UserError("the buffer has " + std::to_string(buffer_bytes) + " bytes",
                          "--update-weight-buffer-size", "give a number from 65536 to 2^40");
  }
  if (threads < 1 || threads > most_threads) {
    throw base::UserError("weights cannot be encoded by " + std::to_string(threads) + " threads",
                          "--update-weight-threads", "give a number from 1 to 1024");
  }
  if (carrier == WeightCarrier::file && directory.empty()) {
    throw base::UserError("the carrier 'file' has no directory", "--weight-directory",
                          "name the one that versions are written to or read from");
  }
  if (carrier != WeightCarrier::file && !directory.empty()) {
    throw base::UserError("only the carrier 'file' has a directory", "--weight-directory",
                          "add --weight-carrier file, or leave it out");
  }
}

std::int64_t store_bytes(const WeightOptions& options, std::int64_t image_bytes) {
  // A delta that is longer than a quarter goes out as a full image; one place is being written.
  const std::int64_t places = options.mode == UpdateMode::full ? 0 : options.delta_ring + 1;
  return 2 * image_bytes + places * (image_bytes / 4);
}

std::int64_t carrier_bytes(const WeightOptions& options, std::int64_t image_bytes) {
  return options.carrier == WeightCarrier::broadcast ? store_bytes(options, image_bytes) : 0;
}

std::int64_t writer_bytes(const WeightOptions& options, std::int64_t image_bytes) {
  return options.carrier == WeightCarrier::file ? image_bytes : 0;
}

void declare_options(base::OptionTable& table, WeightOptions& options) {
  table.topic("weights");
  table.add_choice("update-weight-mode", options.mode,
                   "How new weights reach the engines: the full image each time (full), changed "
                   "elements where they are few (delta), or what is faster (auto).",
                   {"full", "delta", "auto"});
  table.add_choice("update-weight-transfer-type", options.transfer_type,
                   "Element type in which weights travel and in which both sides compute.",
                   {"bf16", "f32"});
  table.add("update-weight-delta-ring", options.delta_ring,
            "Deltas that the weight store keeps; an engine behind by more takes the full image.",
            {1, longest_ring});
  table.add("update-weight-full-interval", options.full_interval,
            "Of that many weight versions one goes out in full; 0: only where a delta is not "
            "possible or not smaller.",
            {0, longest_interval});
  table.add("update-weights-interval", options.interval,
            "Steps from one weight version that engines can pull to the next; more than 1 needs "
            "--mode async and a --max-weight-staleness that allows for it.",
            {1, longest_interval});
  table.add_choice(
      "weight-carrier", options.carrier,
      "How engines read the weight store: one-sided (rma), by messages with the buffer "
      "ranks (messages), or from copies of their own, to which buffer ranks broadcast "
      "every version (broadcast). With file buffer ranks write every version into "
      "--weight-directory, and engines read it there; generate and evaluate take the newest "
      "version there.",
      {"auto", "rma", "messages", "broadcast", "file"});
  table.add("weight-directory", options.directory,
            "With --weight-carrier file: where weight versions are written to and read from, on a "
            "file system that all nodes share.");
  table.add("update-weight-buffer-size", options.buffer_bytes,
            "Bytes of weights that one rank has under way at a time, to the store or from it.",
            {smallest_buffer, largest_buffer});
  table.add("update-weight-threads", options.threads,
            "Threads of a trainer rank that encode new weights, and of an engine that apply them.",
            {1, most_threads});
}

}  // namespace physarum::weights
