// An engine is killed in the middle of a pull by messages: buffer, trainer and the other engine do
// not notice. The buffer rank prints one line; run on 4 ranks with `jobs/launch --with-ft`.

#include <csignal>
#include <cstdio>
#include <map>
#include <optional>

#include "physarum/parallel/mailbox.hpp"
#include "physarum/parallel/session.hpp"
#include "physarum/parallel/wait.hpp"

#include "physarum/weights/weight_exchange.hpp"

#include "evolving_weights.hpp"
#include "noted_publisher.hpp"

namespace {

using namespace physarum;
using namespace physarum::weights;
using base::Deadline;

constexpr int victim = 2;
constexpr int engine = 3;
constexpr std::int64_t versions = 20;
constexpr double patience_s = 60;

Deadline deadline() { return Deadline::in(patience_s); }

/// A part of the image has come; while the next one is on its way the engine dies.
void die_in_a_pull(Puller& puller, Image& image) {
  puller.begin(image);
  if (puller.advance(1, deadline())) return;
  const parallel::ProgressHook in_a_wait([]() -> bool { return std::raise(SIGKILL) == 0; });
  (void)puller.advance(1, deadline());
}

/// Every version until the last; the image must be what was published.
bool follow(Puller& puller, Image& image, test::EvolvingWeights& expected) {
  while (image.version() < base::WeightVersion(versions - 1)) {
    (void)puller.pull(image, deadline());
    if (!image.version().valid()) continue;
    expected.advance_to(image.version().value());
    if (image.digest() != expected.image().digest()) return false;
  }
  return true;
}

/// A rank that leaves may take messages with it: all who are left wait for one another.
class Farewell {
 public:
  explicit Farewell(parallel::Communicator& world) : box_(world), me_(world.rank()) {}
  /// The victim has told the others that it is about to die, so that they go on only then.
  void wait_for_victim() { (void)receive_from(victim); }
  void tell_of_death() {
    for (int rank = 0; rank <= engine; ++rank) {
      if (rank != me_) (void)box_.send(rank, 0, {});
    }
    (void)box_.flush(deadline());
  }
  /// Whether all who are left say that all is good.
  bool agree(bool good) {
    for (int rank = 0; rank <= engine; ++rank) {
      if (rank != me_ && rank != victim) (void)box_.send(rank, good ? 1 : 2, {});
    }
    for (int rank = 0; rank <= engine; ++rank) {
      if (rank != me_ && rank != victim) good = receive_from(rank) == 1 && good;
    }
    return box_.flush(deadline()) && good;
  }

 private:
  int receive_from(int rank) {
    const bool came = parallel::wait_until(
        [&] {
          if (const auto message = box_.try_receive()) tags_[message->peer] = message->tag;
          return tags_.contains(rank);
        },
        deadline());
    return came ? tags_[rank] : -1;
  }
  parallel::Mailbox box_;
  int me_;
  std::map<int, int> tags_;
};

}  // namespace

int main(int argc, char** argv) {
  parallel::Session session(argc, argv);
  auto& world = session.world();
  parallel::LayoutOptions sizes;
  sizes.trainer_ranks = 1;
  parallel::Layout layout(world, parallel::RankLayout::plan(world.size(), sizes));
  const auto catalogue = test::small_catalogue(TransferType::bf16, 20'000);
  test::EvolvingWeights weights(catalogue, test::steady(0.01));
  WeightOptions options;
  options.carrier = WeightCarrier::messages;
  auto exchange = WeightExchange::make(members_of(layout), catalogue, options, deadline());
  const parallel::ProgressHook hook(
      [&] { return exchange.store() != nullptr && exchange.store()->advance(); });
  Farewell farewell(world);
  Image image(catalogue);
  bool good = true;
  std::optional<test::NotedPublisher> publisher;
  if (layout.is_trainer()) publisher.emplace(*exchange.publisher());
  const auto publish = [&](std::int64_t version) {
    weights.advance_to(version);
    publisher->publish(base::WeightVersion(version), weights.flat(), deadline());
  };
  if (layout.is_trainer()) publish(0);
  world.barrier(deadline());
  if (world.rank() == victim) {
    farewell.tell_of_death();
    die_in_a_pull(*exchange.puller(), image);
    return 1;  // it should be dead
  }
  farewell.wait_for_victim();
  if (layout.is_trainer()) {
    for (std::int64_t version = 1; version < versions; ++version) publish(version);
  }
  if (layout.is_rollout()) good = follow(*exchange.puller(), image, weights);
  good = farewell.agree(good);
  if (world.rank() == 0) std::fprintf(stderr, "%s\n", good ? "all went on" : "failed");
  parallel::leave(good ? 0 : 1);
}
