#!/usr/bin/env bash
# From nothing to a model whose reward rises: installs what is missing, builds, teaches a small
# transformer two-digit sums by SFT, then by GRPO, and prints the accuracy after each.
#
#   jobs/quickstart.sh [--seed N] [--ranks N]     defaults: seed 1, 5 ranks
#
# Leaves runs/quickstart-sft/model and runs/quickstart/{model,summary.json,metrics.jsonl,...}.
set -euo pipefail
cd "$(dirname "$0")/.."
. jobs/lib.sh
seed=1
ranks=5
while [ $# -gt 0 ]; do
  case "$1" in
    --seed|--ranks)
      [ $# -ge 2 ] || { echo "quickstart: $1 needs a number" >&2; exit 2; }
      case "$2" in ''|*[!0-9]*) echo "quickstart: $1 takes a number, not '$2'" >&2; exit 2 ;; esac
      if [ "$1" = --seed ]; then seed=$2; else ranks=$2; fi
      shift 2 ;;
    -h|--help) sed -n '2,7p' "$0" | sed 's/^# \{0,1\}//'; exit 0 ;;
    *) echo "quickstart: unknown option '$1'; --help lists them" >&2; exit 2 ;;
  esac
done

jobs/setup.sh
say() { printf 'quickstart: %s\n' "$*"; }
say "building"
cmake --preset release >/dev/null
cmake --build --preset release --target physarum -j "$(nproc)" -- --quiet

# The value of one key of a run's summary.
value() { run_value "runs/$1/summary.json" "$2"; }
percent() { awk -v x="$1" 'BEGIN { printf "%.1f %%", 100 * x }'; }

started=$(date +%s.%N)
say "1/2 supervised fine-tuning from random weights"
jobs/launch -n "$ranks" train inputs/quickstart_sft.toml --seed "$seed"
sft=$(value quickstart-sft eval/arithmetic)
say "accuracy on 500 held-out sums after SFT: $(percent "$sft")"
say "2/2 reinforcement learning (GRPO)"
jobs/launch -n "$ranks" train inputs/quickstart.toml --seed "$seed"
rl=$(value quickstart eval/arithmetic)
seconds=$(awk -v a="$started" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f", b - a }')

summary=runs/quickstart/summary.json
sed -e "1a\\  \"accuracy_after_rl\": $rl,\\n  \"accuracy_after_sft\": $sft,\\n  \"seconds_rl\": $(value quickstart seconds)," \
  -e "s|^\( *\"seconds\": \)[^,]*|\1$seconds|" "$summary" > "$summary.tmp"
mv "$summary.tmp" "$summary"
say "accuracy on 500 held-out sums: $(percent "$sft") after SFT, $(percent "$rl") after RL ($seconds s, seed $seed, $ranks ranks)"
say "written: $summary, runs/quickstart/metrics.jsonl and TensorBoard events beside it, weights in runs/quickstart/model"
