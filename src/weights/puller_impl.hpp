#pragma once

#include <optional>
#include <string>
#include <vector>

#include "physarum/base/hash.hpp"

#include "physarum/parallel/wait.hpp"

#include "physarum/weights/delta_codec.hpp"
#include "physarum/weights/puller.hpp"

#include "store_access.hpp"
#include "store_layout.hpp"
#include "words_copy.hpp"

namespace physarum::weights {

/// How one buffer rank's shard comes to the target version.
struct ShardPlan {
  std::int64_t slot = -1;    // whose full shard is taken; -1: deltas alone
  bool slot_taken = false;   // its bytes are in the image already
  base::WeightVersion from;  // deltas from here on
  DeltaChain chain;          // these, up to the target
  // Where the target's digests are: in a slot, or else in an entry.
  std::int64_t digests_slot = -1;
  std::int64_t digests_entry = -1;
};

/// A pull in progress, as a machine of small steps. A step that finds that its place was reused, or
/// that bytes are not what they should be, starts a new attempt. FilePuller has another way first.
class Puller::Impl {
 public:
  Impl(const StoreLayout& layout, StoreAccess& access, const WeightOptions& options);
  virtual ~Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  Impl(Impl&&) = delete;
  Impl& operator=(Impl&&) = delete;

  [[nodiscard]] base::WeightVersion newest();
  virtual void begin(Image& image, std::optional<base::WeightVersion> exactly);
  [[nodiscard]] virtual bool active() const { return image_ != nullptr; }
  virtual std::optional<PullResult> advance(std::int64_t budget_bytes,
                                            const base::Deadline& deadline);
  virtual void abandon();

 protected:
  [[nodiscard]] const StoreLayout& layout() const { return layout_; }
  [[nodiscard]] StoreAccess& access() { return access_; }
  [[nodiscard]] base::ThreadTeam& team() { return team_; }
  [[nodiscard]] DeltaDecoder& decoder() { return decoder_; }

 private:
  enum class Stage { plan, arrive, head, fetch, apply, verify, done };
  /// A piece of the image or of a delta that is to be fetched.
  struct Piece {
    std::span<std::byte> to;
    int buffer;
    std::uint64_t offset;
    std::int64_t image_offset;  // of a piece of the image; -1: of a delta
  };
  struct Delta {
    const Region* region;
    DeltaStep step;
    std::vector<std::byte> frames;
  };

  void step(std::int64_t& budget, const base::Deadline& deadline);
  void run(Stage stage, std::int64_t& budget, const base::Deadline& deadline);
  void plan();
  void arrive(std::int64_t& budget, const base::Deadline& deadline);
  void read_words(std::vector<WordsCopy>& words, const base::Deadline& deadline);
  [[nodiscard]] std::optional<std::vector<WordsCopy>> read_words_of_one_moment(
      const base::Deadline& deadline);
  [[nodiscard]] bool plan_shards();
  [[nodiscard]] std::optional<ShardPlan> plan_shard(const WordsCopy& words) const;
  [[nodiscard]] bool find_digests(const WordsCopy& words, ShardPlan& plan) const;
  [[nodiscard]] bool slot_usable(const WordsCopy& words, std::int64_t slot) const;
  [[nodiscard]] const ShardPlan& plan_of(int buffer) const {
    return plans_[static_cast<std::size_t>(buffer)];
  }
  [[nodiscard]] bool still_there(const WordsCopy& now, int buffer) const;
  [[nodiscard]] bool overtaken(const WordsCopy& now, int buffer) const;
  void follow(base::WeightVersion ahead, std::vector<WordsCopy> now);
  void read_heads(const base::Deadline& deadline);
  void queue_pieces(const std::vector<std::vector<std::uint64_t>>& lengths);
  void queue_shard(int buffer, std::int64_t slot);
  void queue_frames(std::span<std::byte> to, int buffer, std::uint64_t offset);
  void fetch(std::int64_t& budget, const base::Deadline& deadline);
  void queue_round(std::int64_t& budget);
  void digest_arrived();
  void begin_digests();
  void check_places(const base::Deadline& deadline);
  void apply(std::int64_t& budget);
  void verify(std::int64_t& budget);
  [[nodiscard]] std::int64_t first_wrong(Range blocks, std::int64_t& budget);
  [[nodiscard]] std::span<base::Digest> held_of(Range bytes);
  void finish(PullResult::Kind kind);
  void lost_race();
  void count_retry();
  void failed(const std::string& why);

  const StoreLayout& layout_;
  StoreAccess& access_;
  std::int64_t buffer_bytes_;
  PullCheck check_;
  base::ThreadTeam team_;
  DeltaDecoder decoder_;
  std::vector<WordsCopy> words_;

  Image* image_ = nullptr;
  std::optional<base::WeightVersion> exactly_;
  PullResult result_;
  Stage stage_ = Stage::done;
  base::WeightVersion target_;
  bool full_only_ = false;
  parallel::Backoff backoff_;
  std::vector<ShardPlan> plans_;       // by buffer
  std::vector<base::Digest> digests_;  // that the target must have
  std::vector<base::Digest>
      held_;  // that the image has; none: unknown until all of it is looked at
  std::vector<Delta> deltas_;
  std::vector<Piece> pieces_;
  std::size_t next_piece_ = 0;
  std::size_t arrived_ = 0;   // pieces before it are here
  std::size_t digested_ = 0;  // and those before it are in held_
  double digest_s_ = 0;       // of the step that runs
  std::size_t next_delta_ = 0;
  std::size_t delta_offset_ = 0;
  std::int64_t next_block_ = 0;
};

}  // namespace physarum::weights
