#!/usr/bin/env bash
# The resharding plan of a mixture of experts with 671 billion parameters: how long, how much memory, who moves how much.
#   benchmarks/run.sh weights_plan
set -euo pipefail
cd "$(dirname "$0")/../.."
cmake --preset release -DPHYSARUM_BENCHMARKS=ON >/dev/null
cmake --build --preset release --target plan_figures -- --quiet
build/benchmarks/plan_figures | awk '
  { value[$1] = $2 }
  END {
    printf "%.0f billion parameters, TP 8 PP 16 DP 4 EP 32 to engines of 16 ranks, 64 buffer ranks: a trainer rank puts %s to %s GB (mean %s), an engine rank gets %s to %s GB, a buffer rank keeps %s to %s GB; an engine rank gets it in %s rounds of at most 64 MiB and %s transfers, cut in %s s\n",
      value["parameters_g"], value["put_least_gb"], value["put_most_gb"], value["put_mean_gb"], value["got_least_gb"],
      value["got_most_gb"], value["kept_least_gb"], value["kept_most_gb"], value["rounds"], value["transfers"], value["cut_seconds"]
    printf "figure plan_time %s s goal <= 5\n", value["seconds"]
    printf "figure plan_peak_memory %s GB goal <= 2\n", value["peak_memory_gb"]
    printf "figure put_most_over_mean %.3f times goal <= 2\n", value["put_most_gb"] / value["put_mean_gb"]
    printf "figure got_most_over_mean %.3f times goal <= 1.1\n", value["got_most_gb"] / value["got_mean_gb"]
  }'
