#include "weight_wiring.hpp"

namespace physarum::app {

namespace {

weights::ExchangeMembers with_trainers(parallel::Layout& layout) {
  const bool core = layout.is_buffer() || layout.is_trainer();
  weights::ExchangeMembers members;
  members.core = core ? &layout.core() : nullptr;
  members.trainers = layout.is_trainer() ? &layout.trainer() : nullptr;
  members.trainer_ranks = static_cast<int>(layout.plan().trainer_ranks().size());
  members.is_trainer = layout.is_trainer();
  return members;
}

weights::ExchangeMembers head_alone(parallel::Layout& layout, parallel::Communicator& alone) {
  weights::ExchangeMembers members;
  members.core = layout.is_buffer() ? &layout.buffer() : nullptr;
  members.is_trainer = layout.world().rank() == 0;
  members.trainers = members.is_trainer ? &alone : nullptr;
  members.trainer_ranks = 1;
  return members;
}

}  // namespace

weights::WeightExchange wire_weights(parallel::Layout& layout, const Setup& setup, bool trains) {
  static parallel::Communicator alone;  // null: rank 0 of 1
  auto members = trains ? with_trainers(layout) : head_alone(layout, alone);
  members.pull = layout.is_buffer() || layout.is_rollout() ? &layout.pull() : nullptr;
  members.buffer_ranks = static_cast<int>(layout.plan().buffer_ranks().size());
  members.is_buffer = layout.is_buffer();
  members.is_engine = layout.is_rollout();
  weights::WeightOptions options = setup.configuration.weights;
  if (setup.configuration.rollout.check_weight_update_equal) {
    options.pull_check = weights::PullCheck::every_byte;
  }
  if (!trains && options.carrier == weights::WeightCarrier::file) {  // read at start, not written
    options.carrier = weights::WeightCarrier::automatic;
    options.directory.clear();
  }
  return weights::WeightExchange::make(members, setup.catalogue, options,
                                       base::Deadline::in(wiring_patience_s));
}

}  // namespace physarum::app
