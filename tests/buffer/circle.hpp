#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "physarum/sample/prompt_file.hpp"

#include "physarum/exchange/batch_client.hpp"
#include "physarum/exchange/loopback_transport.hpp"
#include "physarum/exchange/work_client.hpp"

#include "physarum/buffer/buffer_state.hpp"
#include "physarum/buffer/server.hpp"

#include "buffer/token_engine.hpp"
#include "sample/builders.hpp"

namespace physarum::buffer::testing {

namespace st = sample::testing;
using base::GroupId;
using exchange::LoopbackNetwork;

/// A role in a test: takes turns until it is finished.
class Actor {
 public:
  Actor() = default;
  virtual ~Actor() = default;
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;
  Actor(Actor&&) = delete;
  Actor& operator=(Actor&&) = delete;
  virtual void turn(std::int64_t now) = 0;
  [[nodiscard]] virtual bool finished() const = 0;
};

/// What a test wants of a circle in one process: buffer ranks, then trainers, then engines.
struct CircleOptions {
  BufferOptions buffer;
  int buffers = 1;
  int trainers = 1;
  int engines = 1;
  std::int64_t engine_samples = 8;  ///< room of an engine
  std::int64_t num_rollout = 4;
  std::int64_t first_step = 0;
  std::int64_t prompts = 7;
  std::uint64_t seed = 1;  ///< of everything that is left to chance: who answers what, and when
  std::int64_t run_seed = 5;
  sample::Purpose purpose = sample::Purpose::train;
  std::vector<std::int64_t> evaluation_prompts;  ///< sizes of the sets "set0", "set1", ...
  std::int64_t training_turns = 3;               ///< turns that a training step takes
  std::optional<std::filesystem::path> archive;
  double turn_s = 0.01;  ///< of the servers' clock
  std::shared_ptr<const BufferState> resumed;
  std::int64_t save_at = -1;  ///< trainers ask for a snapshot when so many steps are finished
  std::filesystem::path save_trigger;
  std::optional<Script> script;  ///< engines are TokenEngines that follow it
  /// Engines are these: whatever a benchmark measures.
  std::function<std::unique_ptr<Actor>(exchange::Transport&, std::vector<base::WorldRank>)>
      make_engine;
};

/// An engine that answers leases after a number of turns that depends on chance, in any order. It
/// keeps the rules of versions: swaps only when no `exactly` lease is in flight.
class ScriptedEngine : public Actor {
 public:
  ScriptedEngine(exchange::Transport& transport, std::vector<base::WorldRank> buffers,
                 std::int64_t room, std::uint64_t seed)
      : client(transport, std::move(buffers)), room_(room), seed_(seed) {}

  void turn(std::int64_t now) override;
  [[nodiscard]] bool finished() const override { return client.finished() || dead; }

  exchange::WorkClient client;
  /// Turns until a lease is answered; by chance unless a test says otherwise.
  std::function<std::int64_t(const sample::Lease&)> delay;
  /// Called on every answer before it is handed in; false: it is kept back for ever.
  std::function<bool(sample::SampleGroup&)> before_hand_in;
  bool dead = false;
  std::vector<sample::Lease> leases;  ///< all that came
  std::int64_t most_in_flight = 0;

 private:
  struct Work {
    sample::Lease lease;
    std::int64_t due = 0;
    base::WeightVersion version;
  };
  [[nodiscard]] std::int64_t samples_in_flight() const;
  void start_and_swap(std::int64_t now);
  void answer_due(std::int64_t now);
  std::int64_t room_;
  std::uint64_t seed_;
  base::WeightVersion version_;
  std::vector<sample::Lease> waiting_;
  std::vector<Work> working_;
};

/// Trainer ranks that move together, as collectives make them. `seats`: which trainer rank speaks
/// over which transport.
class ScriptedTrainers : public Actor {
 public:
  using Seats = std::vector<std::pair<int, exchange::Transport*>>;
  ScriptedTrainers(const CircleOptions& options, const Seats& seats,
                   const std::vector<base::WorldRank>& buffers);

  void turn(std::int64_t now) override;
  [[nodiscard]] bool finished() const override { return phase_ == Phase::finished; }

  std::vector<std::vector<sample::Batch>> batches;  ///< [step][dp rank]
  std::map<std::int64_t, BufferState> snapshots;    ///< by step
  std::optional<std::int64_t> stopped_at;           ///< a stop errand came before this step
  std::int64_t pause_before_step = -1;              ///< never asks for this step
  bool dead = false;

 private:
  enum class Phase { start, taking, training, taking_ahead, saving, finished };
  void go_on();
  void save(std::function<void(std::int64_t now)> then);
  [[nodiscard]] std::optional<exchange::ErrandOrder> common_errand();
  bool run_errand();
  void ask(std::int64_t step);
  [[nodiscard]] bool all_taken();
  void publish(std::int64_t version);
  void after_training();
  void end();
  const CircleOptions& options_;
  std::vector<std::unique_ptr<exchange::BatchClient>> clients_;
  std::vector<std::optional<sample::Batch>> taken_;
  Phase phase_ = Phase::start;
  std::int64_t step_;
  std::int64_t until_ = 0;
  std::function<void(std::int64_t now)> after_save_;
};

/// The whole circle, every rank in turns in one thread.
class Circle {
 public:
  explicit Circle(CircleOptions options);

  /// Takes turns until everyone is finished or `most_turns` are over; true if finished.
  bool run(std::int64_t most_turns = 20000);
  void turn();

  [[nodiscard]] BufferServer& head() { return *servers.front(); }
  /// Sums over all buffer ranks.
  [[nodiscard]] ServerCounters counters() const;
  [[nodiscard]] LoopbackNetwork& network() { return network_; }
  /// Samples of a step as all trainers got them, by id.
  [[nodiscard]] std::vector<sample::Sample> batch(std::int64_t step) const;
  [[nodiscard]] int engine_rank(int engine) const {
    return options.buffers + options.trainers + engine;
  }

  const CircleOptions options;
  std::map<std::int64_t, base::Scalars> taken_metrics, evaluation_metrics, step_metrics;
  std::vector<sample::SampleId> answered;  ///< in the order in which the head told
  std::vector<std::filesystem::path> files_written;

 private:
  [[nodiscard]] ServerSettings settings(int buffer);
  LoopbackNetwork network_;
  sample::FilePromptSource prompts_;
  std::vector<std::unique_ptr<sample::FilePromptSource>> evaluation_prompts_;
  parallel::Communicator alone_;
  double clock_s_ = 0;
  std::int64_t now_ = 0;

 public:
  std::vector<std::unique_ptr<BufferServer>> servers;
  std::unique_ptr<ScriptedTrainers> trainers;
  std::vector<std::unique_ptr<ScriptedEngine>> engines;
  std::vector<std::unique_ptr<TokenEngine>> token_engines;  ///< instead, if there is a script
  std::vector<std::unique_ptr<Actor>> other_engines;        ///< of make_engine
};

/// Steps of four groups of two samples, nothing archived.
[[nodiscard]] CircleOptions small_circle(Mode mode = Mode::sync);

[[nodiscard]] std::vector<base::WorldRank> ranks(int first, int count);
[[nodiscard]] std::vector<sample::Prompt> make_prompts(std::int64_t count, const std::string& name);

/// What matters of a batch: not who owned or leased it.
[[nodiscard]] std::vector<sample::Sample> without_leases(std::vector<sample::Sample> samples);

}  // namespace physarum::buffer::testing
