// Weights on their way between two ranks: rank 0 is trainer and buffer, rank 1 an engine.
//   transfer_figures pull [MB] [apart] a full pull by each carrier, and a bare loop of MPI_Get;
//                                      apart: as between machines, all bytes go through MPI
//   transfer_figures delta GBPS [MB]   from the optimiser's step to the verified image: a delta,
//                                      a full image, MPI_Bcast; over links of so many Gb/s (0:
//                                      none)
//   transfer_figures rates GBPS [MB]   at densities from 0.1 % to 50 %: Gb/s, percent, MB of the
//                                      delta, ms of delta, full image and default, what it chose
// A line for each figure: name, then values. ROUNDS: how often, in turns; medians are printed.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include <mpi.h>

#include "physarum/parallel/native.hpp"
#include "physarum/parallel/session.hpp"

#include "transfer_ends.hpp"

namespace physarum::weights {
namespace {

constexpr std::int64_t usual_megabytes = 269;  // SmolLM2-135M in bf16
constexpr double usual_density = 0.01;
constexpr double usual_latency_s = 10e-6;

int rounds() {
  const char* text = std::getenv("ROUNDS");
  return text == nullptr ? 5 : std::max(1, std::atoi(text));
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

WeightOptions options_of(UpdateMode mode) {
  WeightOptions options;
  options.mode = mode;
  return options;
}

/// What Puller does with a full image, without anything around it.
constexpr std::size_t piece_bytes = std::size_t{1} << 18;
constexpr std::size_t in_flight_bytes = std::size_t{64} << 20;

template <class Get, class Flush>
void fetch(std::span<std::byte> to, const Get& get, const Flush& flush) {
  for (std::size_t at = 0; at < to.size(); at += piece_bytes) {
    get(to.subspan(at, std::min(piece_bytes, to.size() - at)), at);
    if (at / in_flight_bytes != (at + piece_bytes) / in_flight_bytes) flush();
  }
  flush();
}

/// A window of its own, and MPI as it is.
class BareWindow {
 public:
  BareWindow(parallel::Communicator& comm, std::span<std::byte> memory) {
    MPI_Win_create(memory.data(), static_cast<MPI_Aint>(memory.size()), 1, MPI_INFO_NULL,
                   parallel::native(comm), &window_);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
  }
  ~BareWindow() {
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }
  BareWindow(const BareWindow&) = delete;
  BareWindow& operator=(const BareWindow&) = delete;
  void fetch_image(std::span<std::byte> to, std::uint64_t offset) {
    fetch(
        to,
        [&](std::span<std::byte> piece, std::size_t at) {
          const int count = static_cast<int>(piece.size());
          MPI_Get(piece.data(), count, MPI_BYTE, 0, static_cast<MPI_Aint>(offset + at), count,
                  MPI_BYTE, window_);
        },
        [&] { MPI_Win_flush(0, window_); });
  }

 private:
  MPI_Win window_ = MPI_WIN_NULL;
};

void print(parallel::Communicator& world, const char* name, double value) {
  if (world.rank() == 0) std::printf("%s %.6g\n", name, value);
  if (world.rank() == 0) std::fflush(stdout);
}

void pull_part(parallel::Communicator& world, std::int64_t bytes) {
  TransferEnds ends(world, bytes, options_of(UpdateMode::full), {});
  if (world.rank() == 0) ends.publish(WeightSteps(bytes / 2));
  const std::uint64_t offset = ends.layout().slot_offset(0, 0);
  std::vector<double> bare_s, fetch_s[2], pull_s[2];
  {
    BareWindow bare(world, ends.memory());
    for (int round = -1; round < rounds(); ++round) {
      const double seconds =
          ends.timed([] {}, [&] { bare.fetch_image(ends.image().bytes(), offset); });
      if (round >= 0) bare_s.push_back(seconds);
      for (int i = 0; i < 2; ++i) {
        const auto carrier = i == 0 ? WeightCarrier::rma : WeightCarrier::messages;
        const auto fetch_all = [&] {
          StoreAccess& access = ends.access(carrier);
          fetch(
              ends.image().bytes(),
              [&](std::span<std::byte> piece, std::size_t at) {
                access.get(piece, 0, offset + at);
              },
              [&] { access.flush(base::Deadline::in(60)); });
        };
        const double fetched = ends.timed([] {}, fetch_all);
        ends.forget_image();
        const double pulled = ends.timed([] {}, [&] { ends.pull(0, carrier); });
        if (round < 0) continue;  // the first touch of everything
        fetch_s[i].push_back(fetched);
        pull_s[i].push_back(pulled);
      }
    }
    world.barrier();
  }
  const double bare = median(bare_s);
  print(world, "bare_gb_per_s", static_cast<double>(bytes) / bare / 1e9);
  for (int i = 0; i < 2; ++i) {
    const std::string name = i == 0 ? "rma" : "messages";
    print(world, (name + "_fetch_share").c_str(), bare / median(fetch_s[i]));
    print(world, (name + "_pull_share").c_str(), bare / median(pull_s[i]));
  }
}

/// MPI_Bcast of the image over a link.
double broadcast(TransferEnds& ends, std::span<std::byte> image, const Link& link) {
  LinkClock clock(link);
  const auto work = [&] {
    clock.book(image.size());
    constexpr std::size_t at_once = std::size_t{64} << 20;
    for (std::size_t at = 0; at < image.size(); at += at_once) {
      MPI_Bcast(image.data() + at, static_cast<int>(std::min(at_once, image.size() - at)), MPI_BYTE,
                0, parallel::native(ends.world()));
    }
    clock.wait(1);
  };
  return ends.timed(work, work);
}

struct Way {
  double total_s = 0;
  PublishResult published;
  PullResult pulled;
};

/// One version from the end of the optimiser's step, which has noted what it changed, to the
/// verified image.
Way bring(TransferEnds& ends, const WeightSteps& steps, std::int64_t version,
          WeightCarrier carrier = WeightCarrier::messages) {
  Way way;
  way.total_s = ends.timed([&] { way.published = ends.publish(steps); },
                           [&] { way.pulled = ends.pull(version, carrier); });
  return way;
}

/// Medians of a way in parts, in milliseconds.
class WayTimes {
 public:
  void add(const Way& way) {
    total_.push_back(way.total_s);
    encode_.push_back(way.published.encode_s);
    publish_.push_back(way.published.seconds);
    pull_.push_back(way.pulled.seconds);
    wire_bytes_ = way.published.wire_bytes;
  }
  [[nodiscard]] double total_s() const { return median(total_); }
  [[nodiscard]] double wire_mb() const { return static_cast<double>(wire_bytes_) * 1e-6; }
  void print_all(parallel::Communicator& world, const std::string& name) const {
    print(world, (name + "_ms").c_str(), 1e3 * median(total_));
    print(world, (name + "_wire_mb").c_str(), wire_mb());
    print(world, (name + "_encode_ms").c_str(), 1e3 * median(encode_));
    print(world, (name + "_publish_ms").c_str(), 1e3 * median(publish_));
    print(world, (name + "_pull_ms").c_str(), 1e3 * world.all_gather(median(pull_))[1]);
  }

 private:
  std::vector<double> total_, encode_, publish_, pull_;
  std::int64_t wire_bytes_ = 0;
};

void delta_part(parallel::Communicator& world, const Link& link, std::int64_t bytes) {
  constexpr auto rma = WeightCarrier::rma;
  constexpr auto messages = WeightCarrier::messages;
  WeightSteps steps(world.rank() == 0 ? bytes / 2 : 0);
  TransferEnds delta(world, bytes, options_of(UpdateMode::delta), link);
  TransferEnds full(world, bytes, options_of(UpdateMode::full), link);
  WayTimes delta_by_rma, delta_by_messages, full_by_rma, full_by_messages;
  std::vector<double> broadcast_s;
  std::int64_t version = 0;
  bring(delta, steps, version, messages);
  for (int round = 0; round < rounds(); ++round) {
    steps.step(usual_density);
    delta.note(steps);
    delta_by_rma.add(bring(delta, steps, ++version, rma));
    full_by_rma.add(bring(full, steps, version - 1, rma));
    steps.step(usual_density);
    delta.note(steps);
    delta_by_messages.add(bring(delta, steps, ++version, messages));
    full_by_messages.add(bring(full, steps, version - 1, messages));
    broadcast_s.push_back(broadcast(full, full.image().bytes(), link));
  }
  delta_by_rma.print_all(world, "delta_rma");
  delta_by_messages.print_all(world, "delta_messages");
  full_by_rma.print_all(world, "full_rma");
  full_by_messages.print_all(world, "full_messages");
  const double best = std::min(delta_by_rma.total_s(), delta_by_messages.total_s());
  print(world, "broadcast_ms", 1e3 * median(broadcast_s));
  print(world, "faster_than_full",
        std::min(full_by_rma.total_s(), full_by_messages.total_s()) / best);
  print(world, "faster_than_broadcast", median(broadcast_s) / best);
}

void rates_part(parallel::Communicator& world, const Link& link, std::int64_t bytes) {
  WeightSteps steps(world.rank() == 0 ? bytes / 2 : 0);
  TransferEnds delta(world, bytes, options_of(UpdateMode::delta), link);
  TransferEnds full(world, bytes, options_of(UpdateMode::full), link);
  TransferEnds automatic(world, bytes, options_of(UpdateMode::automatic), link);
  std::int64_t version = 0;
  for (auto* ends : {&delta, &full, &automatic}) bring(*ends, steps, version);
  for (const double density : {0.001, 0.01, 0.05, 0.1, 0.25, 0.5}) {
    WayTimes by_delta, by_full, by_default;
    bool chose_delta = false;
    for (int round = 0; round < rounds(); ++round) {
      ++version;
      steps.step(density);
      delta.note(steps);
      automatic.note(steps);
      by_delta.add(bring(delta, steps, version));
      by_full.add(bring(full, steps, version));
      const Way way = bring(automatic, steps, version);
      by_default.add(way);
      chose_delta = way.published.kind == PublishResult::Kind::delta;
    }
    if (world.rank() != 0) continue;
    std::printf("rates %g %g %.1f %.1f %.1f %.1f %s\n", link.gigabits_per_s, 100 * density,
                by_delta.wire_mb(), 1e3 * by_delta.total_s(), 1e3 * by_full.total_s(),
                1e3 * by_default.total_s(), chose_delta ? "delta" : "full");
    std::fflush(stdout);
  }
}

int run(parallel::Communicator& world, const std::vector<std::string>& words) {
  const std::string part = words.size() > 1 ? words[1] : "";
  const std::size_t size_at = part == "pull" ? 2 : 3;
  const std::int64_t megabytes =
      words.size() > size_at ? std::max(1, std::atoi(words[size_at].c_str())) : usual_megabytes;
  const Link link{words.size() > 2 ? std::atof(words[2].c_str()) : 0, usual_latency_s};
  std::optional<parallel::ScopedReadsByMpi> apart;
  if (words.size() > 3 && words[3] == "apart") apart.emplace();
  if (part == "pull") {
    pull_part(world, megabytes * 1'000'000);
  } else if (part == "delta") {
    delta_part(world, link, megabytes * 1'000'000);
  } else if (part == "rates") {
    rates_part(world, link, megabytes * 1'000'000);
  } else {
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace physarum::weights

int main(int argc, char** argv) {
  physarum::parallel::Session session(argc, argv);
  if (session.world().size() != 2) {
    std::fprintf(stderr, "transfer_figures: start it on two ranks\n");
    return 2;
  }
  const int code =
      physarum::weights::run(session.world(), std::vector<std::string>(argv, argv + argc));
  if (code != 0) std::fprintf(stderr, "usage: transfer_figures pull|delta|rates ...\n");
  session.finish();
  return code;
}
