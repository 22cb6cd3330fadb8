#include "physarum/parallel/layout.hpp"

#include "physarum/base/contracts.hpp"

namespace physarum::parallel {

namespace {
Communicator make(Communicator& world, bool member, const char* name) {
  return world.split(member ? 0 : -1, world.rank(), name);
}
}  // namespace

Layout::Layout(Communicator& world, RankLayout plan) : world_(world), plan_(plan) {
  base::expects(world.size() == plan_.world_size(), "the plan is for this world");
  // All ranks make all of them, in this order, whether they belong or not.
  core_ = make(world, is_buffer() || is_trainer(), "core");
  trainer_ = make(world, is_trainer(), "trainer");
  buffer_ = make(world, is_buffer(), "buffer");
  pull_ = make(world, is_buffer() || is_rollout(), "pull");
  rollout_ = make(world, is_rollout(), "rollout");
}

void Layout::close() {
  world_.barrier();
  for (Communicator* comm : {&rollout_, &pull_, &buffer_, &trainer_, &core_}) comm->close();
}

}  // namespace physarum::parallel
