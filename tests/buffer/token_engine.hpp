#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "physarum/exchange/work_client.hpp"

#include "sample/builders.hpp"

namespace physarum::buffer::testing {

/// What the tokens of an answer are, whoever makes them and whenever: functions of its id.
struct Script {
  std::function<std::int64_t(base::SampleId)> length;  ///< of the response
  std::function<double(base::SampleId)> reward = [](base::SampleId id) {
    return static_cast<double>(id.value() % 2);
  };

  [[nodiscard]] static base::TokenId token(base::SampleId id, std::int64_t position);
  [[nodiscard]] static float log_prob(base::SampleId id, std::int64_t position);
};

/// An engine that makes one token of every answer in a turn, and knows how to be stopped and to go
/// on: what tests of over-sampling need.
class TokenEngine {
 public:
  TokenEngine(exchange::Transport& transport, std::vector<base::WorldRank> buffers,
              std::int64_t room, Script script)
      : client(transport, std::move(buffers)), room_(room), script_(std::move(script)) {}

  void turn();
  [[nodiscard]] bool finished() const { return client.finished() || dead; }
  /// Answers that get a token in the next turn.
  [[nodiscard]] std::int64_t running() const;

  exchange::WorkClient client;
  bool dead = false;
  bool makes_tokens = true;
  /// What goes on here again is read from its last full block of 16 tokens on.
  bool keeps_keys = false;
  /// Called before a group is handed back; false: it is kept back for ever.
  std::function<bool(sample::SampleGroup&)> before_hand_back;
  std::vector<sample::Lease> leases;          ///< all that came
  std::vector<sample::SampleGroup> returned;  ///< what was handed back
  std::int64_t made_tokens = 0;
  std::int64_t read_tokens = 0;  ///< of prompts, once for a group, and of answers that go on
  std::int64_t drops = 0;

 private:
  struct Work {
    sample::Lease lease;
    sample::SampleGroup group;
  };
  void receive();
  void begin(sample::Lease lease);
  void stop(const exchange::Recall& recall);
  void make_tokens();
  void add_token(sample::Sample& sample);
  std::int64_t room_;
  Script script_;
  base::WeightVersion version_;
  std::vector<Work> working_;
};

}  // namespace physarum::buffer::testing
