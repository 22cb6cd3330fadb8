#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "physarum/base/deadline.hpp"
#include "physarum/base/metrics.hpp"

#include "physarum/sample/batch.hpp"

#include "physarum/exchange/messages.hpp"
#include "physarum/exchange/transport.hpp"

namespace physarum::exchange {

using base::WeightVersion;

/// A trainer rank's place in its group.
struct TrainerSeat {
  int trainer_rank = 0;  ///< rank in the trainer group; 0 is the one that reports
  int dp_rank = 0;       ///< which part of each batch it trains on
};

/// A trainer rank's end of the work protocol. Every trainer rank has one and takes every step's
/// batch. Nothing here waits.
///
/// Order of a step s: take(s), train, publish version s + 1, report_published(s + 1). If
/// BufferOptions::takes_before_publishing() (one_step_async), take(s + 1) comes before publishing
/// s + 1: a version may only be replaced when all groups that need exactly it are there. After
/// the last step there is nothing to take.
class BatchClient {
 public:
  /// `buffers`: all buffer ranks, first the head, which decides.
  BatchClient(Transport& transport, std::vector<WorldRank> buffers, TrainerSeat seat);

  /// Asks for the batch of `step`, ahead of take() if wanted. Does not wait; asking twice for the
  /// same step is one question; one question may be open at a time.
  void request(std::int64_t step);
  /// One turn. The batch asked for, when all of this rank's samples have come.
  [[nodiscard]] std::optional<sample::Batch> try_take();
  /// What the head wants done before the step that was asked for is learnt, once; look after every
  /// try_take(). All trainers get the same. With ErrandForm::instead_of_batch the question is
  /// answered by it.
  [[nodiscard]] std::optional<ErrandOrder> take_errand();

  /// Trainer rank 0, between two steps: asks for the buffer's part of a checkpoint.
  void request_snapshot(std::int64_t step);
  /// One turn. The parts of all buffer ranks, in their order, when they have come.
  [[nodiscard]] std::optional<std::vector<Bytes>> try_snapshot();

  /// Trainer rank 0 (others: no effect): engines can pull this version. Version 0 is the initial
  /// model; no lease is given before it.
  void report_published(WeightVersion version);
  /// Trainer rank 0 (others: no effect): metrics of a finished step, for the head to write.
  void report_step(std::int64_t step, const base::Scalars& metrics);
  /// Trainer rank 0 (others: no effect): a line for the user, on the head's terminal.
  void report_notice(const Notice& notice);
  /// Every trainer rank, once, after its last batch. Evaluations that are due are still finished.
  void finish();

  /// Messages that could not be read, dropped.
  [[nodiscard]] std::int64_t malformed_messages() const { return malformed_; }

 private:
  bool receive(const Envelope& envelope);
  void dispatch(const Envelope& envelope);
  void accept_errand(const ErrandOrder& order);
  void accept_snapshot(WorldRank buffer, Snapshot snapshot);
  void accept_plan(sample::BatchPlan plan);
  void accept_samples(std::vector<sample::Sample> samples);
  void ask_owners();
  [[nodiscard]] sample::Batch complete();
  [[nodiscard]] WorldRank head() const { return buffers_.front(); }
  Transport& transport_;
  std::vector<WorldRank> buffers_;
  TrainerSeat seat_;
  std::optional<std::int64_t> asked_;                                ///< step of the open question
  std::optional<sample::BatchPlan> plan_;                            ///< its answer
  std::map<base::SampleId, std::optional<sample::Sample>> samples_;  ///< this rank's, as they come
  std::int64_t missing_ = 0;
  std::optional<ErrandOrder> errand_;
  std::optional<std::int64_t> snapshot_step_;  ///< what parts are awaited for
  std::map<WorldRank, Bytes> snapshot_parts_;
  std::int64_t malformed_ = 0;
};

}  // namespace physarum::exchange
