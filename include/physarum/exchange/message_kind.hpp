#pragma once

#include <cstdint>
#include <string_view>

namespace physarum::exchange {

/// Who on a rank a message is for; a colocated rank is all three.
enum class Party : std::uint8_t { server, engine, trainer };

/// What a message is; also its MPI tag. Contents: messages.hpp.
enum class MessageKind : int {
  // to the head buffer rank
  work_request = 1,  ///< engine: "I have room"
  take_request,      ///< trainer: "I want the batch of this step"
  fetched,           ///< trainer: "I have my part"
  published,         ///< first trainer: "engines can get this version"
  step_report,       ///< first trainer: metrics of a step
  finish,            ///< first trainer: "no further batch"
  snapshot_request,  ///< first trainer: "what must be in a checkpoint?"
  notice,            ///< first trainer: something that the user should read
  stop_request,      ///< any rank: "a signal asks for the end"
  goodbye,           ///< engine, trainer: "I send nothing more"
  arrival,           ///< buffer rank: "I have stored this group"
  archive_ready,     ///< buffer rank: "I am entering the archive"
  alarm,             ///< engine: "the run cannot go on"
  hand_back,         ///< engine: a recalled group, unfinished
  // to a buffer rank
  delivery,        ///< engine: a finished group
  fetch_request,   ///< trainer: "send me these samples"
  release,         ///< head: groups that are done, or to be generated again
  archive_order,   ///< head: "write these groups with us"
  snapshot_order,  ///< head: "send the first trainer these groups"
  shutdown,        ///< head: "it is over"
  // to an engine
  work_reply,
  // to a trainer
  take_reply,
  fetch_reply,
  errand,    ///< head: "save, or stop, before you learn from the next batch"
  snapshot,  ///< buffer rank, to the first trainer: its part of a checkpoint
};

[[nodiscard]] Party party_of(MessageKind kind);
/// "work_request"; "unknown" for numbers that are no kind.
[[nodiscard]] std::string_view name_of(MessageKind kind);
/// True if the number is a kind.
[[nodiscard]] bool is_message_kind(int tag);

}  // namespace physarum::exchange
