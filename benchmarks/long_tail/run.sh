#!/usr/bin/env bash
# Over-sampling with partial rollouts against plain steps; response lengths log-normal, the 99th percentile 20 times the
# median. Steps of 8 prompts x 4 samples; the trainer takes no time. Partial rollouts twice: answers that go on are read again by the
# new weights (10 prompts at a time), or keep their keys and values (--pause-generation-mode in_place; 12).
#   benchmarks/run.sh long_tail [MEDIAN [TOKENS]]   of the measured runs: median length (40), tokens to learn from
#                                                   (40000; 0: none)
# Simulated: lengths of median 100 in scripted engines, 200 steps; the buffer is the real one, time is what the real
# engine takes for a step with so many rows (benchmarks/rollout/long_tail.hpp). The lengths of what is learnt from are
# compared with a fresh draw of as many (Kolmogorov and Smirnov, 5 %).
# Measured: the real engine, random weights in the shape of SmolLM2-135M, one thread, its processor time.
set -euo pipefail
cd "$(dirname "$0")/../.."
cmake --preset release -DPHYSARUM_BENCHMARKS=ON >/dev/null
cmake --build --preset release --target long_tail_figures -- --quiet
build/benchmarks/long_tail_figures "$@"
