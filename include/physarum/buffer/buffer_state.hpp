#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "physarum/base/bytes.hpp"
#include "physarum/base/ids.hpp"

#include "physarum/storage/file.hpp"

#include "physarum/sample/sample_group.hpp"

#include "physarum/buffer/server_settings.hpp"

namespace physarum::buffer {

/// A group that was lent at least once and has not been learnt from.
struct OpenGroup {
  enum class State : std::uint8_t {
    waiting,  ///< came back unfinished
    lent,     ///< an engine works on it; after a restart it waits
    stored,   ///< complete; its samples are in the state
  };
  base::GroupId group;
  State state = State::waiting;
  /// All leases so far, of a lent one the last is open; none if it was taken and is put back.
  std::vector<base::LeaseId> history;
  std::int64_t resumes = 0;  ///< leases that went on with tokens of earlier ones
  friend bool operator==(const OpenGroup&, const OpenGroup&) = default;
};

/// Everything of the buffer that a run needs to go on where it was, whatever the number of buffer
/// ranks. The data cursor is `fresh_group`: prompts, epochs and their shuffling are functions of
/// group numbers and the seed, and so are all random numbers.
struct BufferState {
  sample::Purpose purpose = sample::Purpose::train;
  std::int64_t step = 0;                         ///< finished steps: the next batch is this step's
  std::int64_t fresh_group = 0;                  ///< the lowest group that was never lent
  std::int64_t next_lease = 0;                   ///< lease numbers below are taken
  std::vector<OpenGroup> open;                   ///< by group
  std::vector<base::WeightVersion> evaluations;  ///< due or begun, not reported
  ServerCounters counters;
  std::string report;                       ///< what ServerReports::save_state said
  std::vector<sample::SampleGroup> groups;  ///< those that are stored, by id
  /// What there is of groups that are not stored, by id: at least one sample of each is aborted.
  std::vector<sample::SampleGroup> unfinished;

  /// This rank's part as bytes, and back. decode() throws base::MalformedBytes.
  [[nodiscard]] base::Bytes encode() const;
  [[nodiscard]] static BufferState decode(std::span<const std::byte> bytes);
  /// The head's part and the others', which have groups only.
  [[nodiscard]] static BufferState merge(std::vector<BufferState> parts);

  /// Under "buffer/" in a checkpoint; this rank alone has created the file.
  void write(storage::File& file) const;
  /// Throws UserError if the file's content breaks a rule.
  [[nodiscard]] static BufferState read(const storage::File& file);
};

}  // namespace physarum::buffer
