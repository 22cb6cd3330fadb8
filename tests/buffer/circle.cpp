#include "buffer/circle.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "physarum/base/contracts.hpp"

namespace physarum::buffer::testing {

std::vector<sample::Prompt> make_prompts(std::int64_t count, const std::string& name) {
  std::vector<sample::Prompt> prompts(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < prompts.size(); ++i) prompts[i].text = name + " " + std::to_string(i);
  return prompts;
}

CircleOptions small_circle(Mode mode) {
  CircleOptions options;
  options.buffer.mode = mode;
  options.buffer.rollout_batch_size = 4;
  options.buffer.n_samples_per_prompt = 2;
  options.buffer.save_samples = false;
  return options;
}

std::vector<base::WorldRank> ranks(int first, int count) {
  std::vector<base::WorldRank> result;
  for (int rank = first; rank < first + count; ++rank) result.emplace_back(rank);
  return result;
}

std::int64_t ScriptedEngine::samples_in_flight() const {
  std::int64_t samples = 0;
  for (const auto& lease : waiting_) samples += lease.n_samples;
  for (const auto& work : working_) samples += work.lease.n_samples;
  return samples;
}

void ScriptedEngine::turn(std::int64_t now) {
  if (finished()) return;
  client.poll(std::max<std::int64_t>(0, room_ - samples_in_flight()), version_);
  if (client.finished()) return;
  for (auto& lease : client.take_leases()) {
    leases.push_back(lease);
    waiting_.push_back(std::move(lease));
  }
  most_in_flight = std::max(most_in_flight, client.leases_in_flight());
  start_and_swap(now);
  answer_due(now);
}

void ScriptedEngine::start_and_swap(std::int64_t now) {
  const bool pinned = std::ranges::any_of(
      working_, [](const Work& work) { return work.lease.rule == sample::VersionRule::exactly; });
  if (!pinned) version_ = client.newest_version();
  // Leases that need another version wait until the engine may swap to it.
  std::erase_if(waiting_, [&](const sample::Lease& lease) {
    const bool supervised = lease.purpose == sample::Purpose::supervised;
    const bool exact = lease.rule == sample::VersionRule::exactly;
    if (!supervised && (exact ? version_ != lease.version : version_ < lease.version)) return false;
    const auto turns = delay ? delay(lease) : st::draw(seed_, lease.id.value(), 0, 0, 9);
    working_.push_back({lease, now + turns, supervised ? lease.version : version_});
    return true;
  });
}

void ScriptedEngine::answer_due(std::int64_t now) {
  std::erase_if(working_, [&](const Work& work) {
    if (work.due > now) return false;
    auto group = st::answer(work.lease, work.version.value());
    if (before_hand_in && !before_hand_in(group)) return true;
    client.hand_in(group);
    return true;
  });
}

ScriptedTrainers::ScriptedTrainers(const CircleOptions& options, const Seats& seats,
                                   const std::vector<base::WorldRank>& buffers)
    : options_(options), step_(options.first_step) {
  for (const auto& [seat, transport] : seats) {
    clients_.push_back(std::make_unique<exchange::BatchClient>(*transport, buffers,
                                                               exchange::TrainerSeat{seat, seat}));
  }
  if (clients_.empty()) phase_ = Phase::finished;
}

void ScriptedTrainers::turn(std::int64_t now) {
  if (dead || finished()) return;
  if (phase_ == Phase::start) {
    publish(step_);
    if (step_ >= options_.num_rollout) return end();
    ask(step_);
    phase_ = Phase::taking;
  } else if (phase_ == Phase::taking) {
    const bool taken = all_taken();
    if (run_errand() || !taken) return;
    until_ = now + options_.training_turns;
    phase_ = Phase::training;
  } else if (phase_ == Phase::training && now >= until_) {
    after_training();
  } else if (phase_ == Phase::taking_ahead && all_taken()) {
    publish(step_);
    const auto train = [this](std::int64_t then) {
      until_ = then + options_.training_turns;
      phase_ = Phase::training;
    };
    const auto errand = common_errand();
    if (errand && errand->errand == exchange::Errand::save_and_stop) {
      stopped_at = step_;
      return save([this](std::int64_t) { end(); });
    }
    if (errand || step_ == options_.save_at) return save(train);
    train(now);
  } else if (phase_ == Phase::saving) {
    auto parts = clients_.front()->try_snapshot();
    if (!parts) return;
    std::vector<BufferState> states;
    for (const auto& part : *parts) states.push_back(BufferState::decode(part));
    snapshots[step_] = BufferState::merge(std::move(states));
    after_save_(now);
  }
}

void ScriptedTrainers::save(std::function<void(std::int64_t)> then) {
  clients_.front()->request_snapshot(step_);
  after_save_ = std::move(then);
  phase_ = Phase::saving;
}

/// What all trainers were told. The head tells all of them in one turn.
std::optional<exchange::ErrandOrder> ScriptedTrainers::common_errand() {
  std::vector<std::optional<exchange::ErrandOrder>> errands;
  for (auto& client : clients_) errands.push_back(client->take_errand());
  for (const auto& errand : errands) {
    base::expects(errand.has_value() == errands.front().has_value(), "all trainers are told alike");
  }
  return errands.front();
}

/// In place of the batch of step_.
bool ScriptedTrainers::run_errand() {
  const auto errand = common_errand();
  if (!errand) return false;
  if (errand->errand == exchange::Errand::save_and_stop) stopped_at = step_;
  save([this](std::int64_t) {
    if (stopped_at) return end();
    ask(step_);
    phase_ = Phase::taking;
  });
  return true;
}

/// Mode one_step_async takes the next batch before it replaces the version that the batch needs.
void ScriptedTrainers::after_training() {
  ++step_;
  if (step_ >= options_.num_rollout || step_ == pause_before_step) {
    publish(step_);
    return step_ == pause_before_step ? void() : end();
  }
  const bool ahead = options_.buffer.takes_before_publishing();
  if (!ahead) publish(step_);
  if (!ahead && step_ == options_.save_at) {
    return save([this](std::int64_t) { go_on(); });
  }
  go_on();
}

void ScriptedTrainers::go_on() {
  ask(step_);
  phase_ = options_.buffer.takes_before_publishing() ? Phase::taking_ahead : Phase::taking;
}

void ScriptedTrainers::ask(std::int64_t step) {
  taken_.assign(clients_.size(), std::nullopt);
  for (auto& client : clients_) client->request(step);
}

bool ScriptedTrainers::all_taken() {
  for (std::size_t i = 0; i < clients_.size(); ++i)
    if (!taken_[i]) taken_[i] = clients_[i]->try_take();
  if (!std::ranges::all_of(taken_, [](const auto& batch) { return batch.has_value(); }))
    return false;
  auto& step = batches.emplace_back();
  for (auto& batch : taken_) step.push_back(std::move(*batch));
  return true;
}

void ScriptedTrainers::publish(std::int64_t version) {
  for (auto& client : clients_) {
    if (version > options_.first_step)
      client->report_step(version - 1, {{"train/loss", static_cast<double>(version)}});
    client->report_published(base::WeightVersion(version));
  }
}

void ScriptedTrainers::end() {
  for (auto& client : clients_) client->finish();
  phase_ = Phase::finished;
}

Circle::Circle(CircleOptions wanted)
    : options(std::move(wanted)),
      network_(options.buffers + options.trainers + options.engines),
      prompts_(make_prompts(options.prompts, "question")) {
  for (const auto size : options.evaluation_prompts)
    evaluation_prompts_.push_back(
        std::make_unique<sample::FilePromptSource>(make_prompts(size, "exam")));
  const auto buffers = ranks(0, options.buffers);
  for (int rank = 0; rank < options.buffers; ++rank) {
    servers.push_back(std::make_unique<BufferServer>(
        network_.endpoint(rank), alone_, settings(rank),
        ServerReports{
            [this](std::int64_t step, const auto& m) { taken_metrics[step] = m; },
            [this](base::WeightVersion v, const auto& m) { evaluation_metrics[v.value()] = m; },
            [this](std::int64_t step, const auto& m) { step_metrics[step] = m; },
            {},
            [] { return std::string("a report's state"); },
            [this](std::span<const sample::SampleSummary> samples) {
              for (const auto& sample : samples) answered.push_back(sample.id);
            },
            [this](const std::filesystem::path& file) { files_written.push_back(file); }}));
  }
  ScriptedTrainers::Seats seats;
  for (int seat = 0; seat < options.trainers; ++seat)
    seats.emplace_back(seat, &network_.endpoint(options.buffers + seat));
  trainers = std::make_unique<ScriptedTrainers>(options, seats, buffers);
  for (int engine = 0; engine < options.engines; ++engine) {
    if (options.make_engine) {
      other_engines.push_back(options.make_engine(network_.endpoint(engine_rank(engine)), buffers));
      continue;
    }
    if (options.script) {
      token_engines.push_back(std::make_unique<TokenEngine>(network_.endpoint(engine_rank(engine)),
                                                            buffers, options.engine_samples,
                                                            *options.script));
      continue;
    }
    engines.push_back(std::make_unique<ScriptedEngine>(
        network_.endpoint(engine_rank(engine)), buffers, options.engine_samples,
        options.seed * 100 + static_cast<std::uint64_t>(engine)));
  }
}

ServerSettings Circle::settings(int buffer) {
  ServerSettings settings;
  settings.options = options.buffer;
  settings.peers = {ranks(0, options.buffers), ranks(options.buffers, options.trainers),
                    ranks(options.buffers + options.trainers, options.engines),
                    std::max(1, options.trainers)};
  settings.seed = options.run_seed;
  settings.first_step = options.first_step;
  settings.num_rollout = options.num_rollout;
  settings.purpose = options.purpose;
  settings.sampling.max_response_tokens = 16;
  if (options.trainers == 0) settings.initial_version = base::WeightVersion(0);
  if (options.archive) settings.archive = {*options.archive, "test", "configuration"};
  settings.resumed = options.resumed;
  settings.save_trigger = options.save_trigger;
  settings.clock_s = [this] { return clock_s_; };
  settings.longest_turn_s = 1e9;
  if (buffer != 0) return settings;
  settings.prompts = &prompts_;
  for (std::size_t i = 0; i < evaluation_prompts_.size(); ++i) {
    settings.evaluations.push_back({"set" + std::to_string(i), evaluation_prompts_[i].get(), 0,
                                    options.buffer.n_samples_per_eval_prompt, settings.sampling});
  }
  return settings;
}

void Circle::turn() {
  ++now_;
  clock_s_ += options.turn_s;
  // Chance decides the order in which ranks get their turns, as a scheduler would.
  std::vector<std::function<void()>> moves;
  for (auto& server : servers) moves.emplace_back([&] { server->advance(); });
  moves.emplace_back([&] { trainers->turn(now_); });
  for (auto& engine : engines) moves.emplace_back([&] { engine->turn(now_); });
  for (auto& engine : token_engines) moves.emplace_back([&] { engine->turn(); });
  for (auto& engine : other_engines) moves.emplace_back([&] { engine->turn(now_); });
  const auto count = static_cast<std::int64_t>(moves.size());
  const auto first = st::draw(options.seed, now_, 7, 0, count - 1);
  for (std::int64_t i = 0; i < count; ++i) moves[static_cast<std::size_t>((first + i) % count)]();
}

bool Circle::run(std::int64_t most_turns) {
  const auto finished = [this] {
    return trainers->finished() &&
           std::ranges::all_of(engines, [](const auto& engine) { return engine->finished(); }) &&
           std::ranges::all_of(token_engines,
                               [](const auto& engine) { return engine->finished(); }) &&
           std::ranges::all_of(other_engines,
                               [](const auto& engine) { return engine->finished(); }) &&
           std::ranges::all_of(servers, [](const auto& server) { return server->finished(); });
  };
  for (std::int64_t i = 0; i < most_turns && !finished(); ++i) turn();
  return finished();
}

ServerCounters Circle::counters() const {
  ServerCounters sum;
  for (const auto& server : servers) {
    const auto& one = server->counters();
    sum.expired_leases += one.expired_leases;
    sum.returned_leases += one.returned_leases;
    sum.repeated_groups += one.repeated_groups;
    sum.aborted_groups += one.aborted_groups;
    sum.stale_groups += one.stale_groups;
    sum.malformed_messages += one.malformed_messages;
    sum.recalled_groups += one.recalled_groups;
    sum.resumed_groups += one.resumed_groups;
    sum.discarded_groups += one.discarded_groups;
    sum.filtered_groups += one.filtered_groups;
    sum.reused_tokens += one.reused_tokens;
  }
  return sum;
}

std::vector<sample::Sample> Circle::batch(std::int64_t step) const {
  std::map<base::SampleId, sample::Sample> samples;
  for (const auto& part : trainers->batches.at(static_cast<std::size_t>(step - options.first_step)))
    for (const auto& sample : part.samples) samples[sample.id] = sample;
  std::vector<sample::Sample> result;
  for (auto& [id, sample] : samples) result.push_back(std::move(sample));
  return result;
}

std::vector<sample::Sample> without_leases(std::vector<sample::Sample> samples) {
  for (auto& sample : samples) {
    sample.lease = {};
    sample.lease_history.clear();
  }
  return samples;
}

}  // namespace physarum::buffer::testing
