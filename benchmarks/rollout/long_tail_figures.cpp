// Figures of benchmarks/run.sh long_tail: over-sampling with partial rollouts against plain steps.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "long_tail.hpp"

namespace physarum::rollout {
namespace {

using buffer::testing::Circle;

/// One thread does everything and waits for nobody, so this is what an idle machine takes.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Measured {
  std::int64_t steps = 0;
  std::int64_t tokens = 0;
  double seconds = 0;
  [[nodiscard]] double rate() const { return static_cast<double>(tokens) / seconds; }
};

const char* name_of(Form form) {
  switch (form) {
    case Form::plain:
      return "plain";
    case Form::discarding:
      return "discarding";
    case Form::partial:
      return "partial";
    case Form::in_place:
      break;
  }
  return "partial, in place";
}

/// Steps until so many tokens have been learnt from, after some in which the run swings in: what is
/// unfinished at the end makes up for what was there at the beginning.
Measured measure(Form form, std::int64_t median, std::int64_t tokens) {
  constexpr std::int64_t first = 4;
  const LongTail lengths(median, 5);
  auto options = circle_options(form, 1'000'000);
  options.make_engine = [&](exchange::Transport& transport, std::vector<base::WorldRank> buffers) {
    return std::make_unique<MeasuredEngine>(
        transport, std::move(buffers), lengths, 64,
        form == Form::in_place ? PauseGenerationMode::in_place : PauseGenerationMode::retract);
  };
  Circle circle(options);
  const auto steps = [&] { return std::ssize(circle.trainers->batches); };
  while (steps() < first) circle.turn();
  const double begin = cpu_seconds();
  Measured measured;
  for (std::int64_t step = first; measured.tokens < tokens; ++step) {
    while (steps() <= step) circle.turn();
    for (const auto& sample : trained(circle, step, step + 1))
      measured.tokens += sample.response_tokens();
    ++measured.steps;
  }
  measured.seconds = cpu_seconds() - begin;
  std::fprintf(stderr, "%s: %lld steps, %lld tokens, %.1f s\n", name_of(form),
               static_cast<long long>(measured.steps), static_cast<long long>(measured.tokens),
               measured.seconds);
  return measured;
}

/// A circle with scripted engines: the buffer is the real one, time is what step_seconds() says.
struct Simulated {
  std::size_t samples = 0;
  double distance = 0;  ///< of the lengths that were learnt from, from a fresh draw's
  double rate = 0;      ///< tokens that were learnt from in a second of generation
  double made = 0;      ///< tokens made for each that was learnt from
};

/// Looks at steps `first`, ..., `steps` - 1: before, the run has not swung in.
Simulated simulate(Form form, std::int64_t first, std::int64_t steps) {
  const LongTail lengths(100, 6);
  auto options = circle_options(form, steps);
  options.script =
      buffer::testing::Script{.length = [&](base::SampleId id) { return lengths.length(id); }};
  Circle circle(options);
  auto& engine = *circle.token_engines.front();
  engine.keeps_keys = form == Form::in_place;
  double seconds = 0;
  std::int64_t made = 0;
  for (std::int64_t read = 0, before = 0; std::ssize(circle.trainers->batches) < steps;) {
    circle.turn();
    const bool counts = std::ssize(circle.trainers->batches) >= first;
    if (counts) seconds += step_seconds(engine.made_tokens - before + engine.read_tokens - read);
    if (counts) made += engine.made_tokens - before;
    read = engine.read_tokens;
    before = engine.made_tokens;
  }
  std::vector<std::int64_t> seen, fresh;
  double tokens = 0;
  for (const auto& sample : trained(circle, first, steps)) {
    if (sample.response_tokens() != lengths.length(sample.id))
      throw std::logic_error("a sample is not as long as it should be");
    seen.push_back(sample.response_tokens());
    tokens += static_cast<double>(seen.back());
  }
  const std::int64_t others = std::int64_t{1} << 40;
  for (std::int64_t i = 0; i < std::ssize(seen); ++i)
    fresh.push_back(lengths.length(base::SampleId(others + i)));
  const auto samples = seen.size();
  return {samples, ks_distance(std::move(seen), std::move(fresh)), tokens / seconds,
          static_cast<double>(made) / tokens};
}

void figure(const char* name, double value, const char* unit, const std::string& goal) {
  std::printf("figure %s %.4g %s goal %s\n", name, value, unit, goal.c_str());
}

}  // namespace
}  // namespace physarum::rollout

int main(int count, char** arguments) {
  using namespace physarum::rollout;
  const std::int64_t median = count > 1 ? std::atoll(arguments[1]) : 40;
  const std::int64_t tokens = count > 2 ? std::atoll(arguments[2]) : 40'000;
  const auto plain = simulate(Form::plain, 50, 250);
  const auto partial = simulate(Form::partial, 50, 250);
  const auto in_place = simulate(Form::in_place, 50, 250);
  const auto discarding = simulate(Form::discarding, 50, 250);
  const auto limit = std::to_string(ks_limit(partial.samples, partial.samples));
  figure("long_tail_samples", static_cast<double>(partial.samples), "samples", ">= 5000");
  figure("long_tail_ks_partial", partial.distance, "distance", "<= " + limit);
  figure("long_tail_ks_in_place", in_place.distance, "distance", "<= " + limit);
  // What a biased one looks like: the surplus is discarded, so short answers win.
  figure("long_tail_ks_discarding", discarding.distance, "distance", "> " + limit);
  figure("long_tail_made_partial", partial.made, "tokens/token", "<= 1.05");
  figure("long_tail_made_discarding", discarding.made, "tokens/token", ">= 1");
  figure("long_tail_simulated_plain", plain.rate, "tokens/s", ">= 0");
  figure("long_tail_simulated_partial", partial.rate, "tokens/s", ">= 0");
  figure("long_tail_simulated_in_place", in_place.rate, "tokens/s", ">= 0");
  figure("long_tail_simulated_gain_partial", 100 * (partial.rate / plain.rate - 1), "%", ">= 0");
  figure("long_tail_simulated_gain_in_place", 100 * (in_place.rate / plain.rate - 1), "%", ">= 30");
  if (tokens == 0) return 0;
  const auto slow = measure(Form::plain, median, tokens);
  figure("long_tail_plain", slow.rate(), "tokens/s", ">= 0");
  const auto gain = [&](const Measured& one) { return 100 * (one.rate() / slow.rate() - 1); };
  const auto read_again = measure(Form::partial, median, tokens);
  figure("long_tail_partial", read_again.rate(), "tokens/s", ">= 0");
  figure("long_tail_gain_partial", gain(read_again), "%", ">= 0");
  const auto kept = measure(Form::in_place, median, tokens);
  figure("long_tail_in_place", kept.rate(), "tokens/s", ">= 0");
  figure("long_tail_gain_in_place", gain(kept), "%", ">= 30");
  return 0;
}
